"""Builds images of the Containerfile with buildah, on a base from Debian's packages, and runs them.

buildah, mmdebstrap and their libraries are unpacked from Debian's packages; nothing is installed.
It needs root, and apt-get with the lists of Debian. A RUN is executed in a chroot.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

from shown_commands import ROOT

PACKAGES = (
    *("buildah", "libgpgme11", "libassuan0", "libseccomp2", "patchelf", "mmdebstrap"),
    *("golang-github-containers-common", "golang-github-containers-image"),
)
BASE = "localhost/base"
BASE_PACKAGES = "python3,python3-venv,ca-certificates"
SUITE = "bookworm"


def missing():
    """Why images cannot be built here; None if they can."""
    if os.geteuid() != 0:
        return "only root may chroot"
    programs = ("apt-get", "dpkg-deb", "unshare", "chroot")
    absent = [each for each in programs if shutil.which(each) is None]
    return f"there is no {', '.join(absent)}" if absent else None


def ran(*words, **options):
    """The output of a command, which must succeed."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{shlex.join(map(str, words))}\n{done.stderr[-4000:]}"
    return done.stdout


class Builder:
    """buildah with a store of its own in `folder`."""

    def __init__(self, folder):
        self.folder = folder
        programs = folder / "programs"
        (folder / "debs").mkdir(parents=True)
        ran("apt-get", "-qq", "download", *PACKAGES, cwd=folder / "debs")
        for deb in (folder / "debs").iterdir():
            ran("dpkg-deb", "-x", deb, programs)
        self._bin = programs / "usr" / "bin"
        (libraries,) = (programs / "usr" / "lib").glob("*-linux-gnu")
        # buildah starts itself again without the environment, so its libraries are named in it.
        patch = ("--force-rpath", "--set-rpath", libraries, self._bin / "buildah")
        ran(self._bin / "patchelf", *patch)
        self._policy = folder / "policy.json"
        self._policy.write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
        (folder / "registries.conf").write_text("unqualified-search-registries = []\n")

    def buildah(self, *words):
        """Run buildah; its output."""
        store = ("--root", self.folder / "root", "--runroot", self.folder / "run")
        environment = {
            **os.environ,
            "CONTAINERS_REGISTRIES_CONF": str(self.folder / "registries.conf"),
        }
        command = (self._bin / "buildah", *store, "--storage-driver", "vfs", *words)
        return ran(*command, cwd=ROOT, env=environment)

    def make_base(self):
        """An image of Debian with Python, as the base of the Containerfile."""
        tar = self.folder / "base.tar"
        sources = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("debian*")]
        ran(
            *(self._bin / "mmdebstrap", "--mode=root", "--variant=minbase"),
            *(f"--include={BASE_PACKAGES}", SUITE, tar),
            *(each for each in sources if each.is_file()),
        )
        made = self.buildah("from", "--signature-policy", self._policy, "scratch").strip()
        self.buildah("add", made, tar, "/")
        self.buildah("commit", "--signature-policy", self._policy, made, BASE)
        self.buildah("rm", made)
        tar.unlink()

    def build(self, target):
        """Build a target of the Containerfile; the name of its image."""
        pip = self.folder / "pip.conf"
        pip.write_text("[global]\n")
        volumes = [(pip, "/etc/pip.conf")]
        if authority := os.environ.get("PIP_CERT"):
            pip.write_text("[global]\ncert = /run/authority.pem\n")
            volumes.append((Path(authority).resolve(), "/run/authority.pem"))
        self.buildah(
            *("bud", "--signature-policy", self._policy, "--pull-never"),
            *("--isolation", "chroot", "--network", "host"),
            *(f"--volume={place}:{inside}:ro" for place, inside in volumes),
            *("--build-arg", f"BASE={BASE}", "--target", target, "--tag", target, "."),
        )
        return target

    def start(self, image):
        """A container of the image: see `Container`."""
        name = self.buildah(
            "from", "--signature-policy", self._policy, "--pull-never", image
        ).strip()
        told = json.loads(self.buildah("inspect", "--type", "image", image))  # noqa: TID251 (its text)
        root = self.buildah("mount", name).strip()
        return Container(Path(root), told["OCIv1"]["config"], self.folder / f"{name}-data")


class Container:
    """Runs commands as the image says: its user, its environment, its root read-only.

    `/data` is `self.data`, `/tmp` is empty in each run.
    """

    def __init__(self, root, config, data):
        self.root, self.config, self.data = root, config, data
        data.mkdir()
        user, group = map(int, config["User"].split(":"))
        os.chown(data, user, group)

    def run(self, *words, entrypoint=True):
        """The ended process of the image's command with these words."""
        start = self.config["Entrypoint"] if entrypoint else []
        inside = shlex.join(map(str, [*start, *words]))
        user = self.config["User"]
        scratch = self.root / "tmp"
        started = shlex.quote(f"cd {self.config['WorkingDir']} && exec {inside}")
        script = (
            "set -e\n"
            f"mount --bind {self.root} {self.root}\n"
            f"mount -o remount,bind,ro {self.root}\n"
            f"mount -t tmpfs tmpfs {scratch}\n"
            f"chmod 1777 {scratch}\n"
            f"mount --bind {self.data} {self.root}/data\n"
            f"mount -t proc proc {self.root}/proc\n"
            f"mount --rbind /dev {self.root}/dev\n"
            f"exec chroot --userspec={user} {self.root} /bin/sh -c {started}\n"
        )
        environment = dict(each.split("=", 1) for each in self.config["Env"])
        return subprocess.run(
            ["unshare", "--mount", "--propagation=private", "/bin/sh", "-c", script],
            env={**environment, "PATH": f"{environment['PATH']}:/usr/sbin:/sbin"},
            capture_output=True,
            text=True,
            check=False,
        )
