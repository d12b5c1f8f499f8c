"""A realm of MIT Kerberos on loopback, from Debian's packages, unpacked once and run unprivileged.

`python tests/kerberos_realm.py` fetches them into `build/kerberos`, or the folder that
`RACKWISE_KERBEROS` names. Nothing is installed. The package `gssapi` of Debian is for its own
Python 3.11: with another Python, the tests are left out unless `gssapi` is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from debian_packages import fetch

ROOT = Path(__file__).parents[1]
FOLDER = Path(os.environ.get("RACKWISE_KERBEROS") or ROOT / "build" / "kerberos")
PACKAGES = (
    *("krb5-kdc", "krb5-admin-server", "krb5-user", "python3-gssapi", "python3-decorator"),
    *("libgssrpc4", "libkadm5clnt-mit12", "libkadm5srv-mit12", "libkdb5-10"),
    *("libverto1", "libverto-libev1", "libev4", "libgssapi-krb5-2", "libkrb5-3", "libk5crypto3"),
    *("libkrb5support0", "libkeyutils1"),
)
REALM = "RACKWISE.TEST"
READY_S = 20.0


@cache
def missing():
    """Why the tests with Kerberos cannot run, after an attempt to fetch it; None if they can."""
    if sys.version_info[:2] != (3, 11) and find_spec("gssapi") is None:
        return "gssapi is not installed for this Python"
    reason = "" if program("krb5kdc") else fetch(PACKAGES, FOLDER)
    return None if program("krb5kdc") else f"krb5kdc cannot be fetched: {reason}"


def program(name):
    """The path of a program of the packages."""
    places = os.pathsep.join(str(FOLDER / "usr" / each) for each in ("sbin", "bin"))
    return shutil.which(name, path=places)


class Realm:
    """A realm with its own KDC in a folder; close it."""

    def __init__(self, folder):
        from rackwise.adapters.sandbox.ports import free_ports

        self.folder = folder
        (libraries,) = (FOLDER / "usr" / "lib").glob("*-linux-gnu")
        modules = f"[dbmodules]\n db_module_dir = {libraries}/krb5/plugins/kdb\n"
        address = f"127.0.0.1:{free_ports(1)[0]}"
        self.config = folder / "krb5.conf"
        self.config.write_text(
            f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n"
            " dns_lookup_realm = false\n dns_canonicalize_hostname = false\n rdns = false\n"
            f" udp_preference_limit = 1\n[realms]\n {REALM} = {{\n  kdc = {address}\n }}\n"
            f"[domain_realm]\n localhost = {REALM}\n{modules}"
        )
        (folder / "kdc.conf").write_text(
            f"[kdcdefaults]\n kdc_listen = {address}\n kdc_tcp_listen = {address}\n[realms]\n"
            f" {REALM} = {{\n  database_name = {folder}/principal\n"
            f"  key_stash_file = {folder}/stash\n  max_life = 1h\n }}\n{modules}"
        )
        self.environ = {
            "KRB5_CONFIG": str(self.config),
            "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
            "KRB5CCNAME": f"FILE:{folder}/no-tickets",
            "LD_LIBRARY_PATH": str(libraries),
            "PYTHONPATH": os.pathsep.join(
                filter(None, [str(ROOT / "src"), str(FOLDER / "usr/lib/python3/dist-packages")])
            ),
        }
        self.run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        self._process = None
        self.start()

    def run(self, name, *words, **environ):
        """Run a program of the packages in this realm; a failure shows its output."""
        done = subprocess.run(
            [program(name), *words],
            env={**os.environ, **self.environ, **environ},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def keytab(self, principal):
        """The path of a keytab with the key of a new principal."""
        path = self.folder / f"{principal.partition('/')[0]}.keytab"
        self.run("kadmin.local", "-q", f"addprinc -randkey {principal}")
        self.run("kadmin.local", "-q", f"ktadd -k {path} {principal}")
        path.chmod(0o600)
        return path

    def start(self):
        """Start the KDC and wait until it answers."""
        self._process = subprocess.Popen(
            [program("krb5kdc"), "-n"],
            env={**os.environ, **self.environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        end = time.monotonic() + READY_S
        for line in self._process.stdout:
            if "starting" in line:
                return
            assert time.monotonic() < end, line
        raise AssertionError("the KDC did not start")

    def close(self):
        """Stop the KDC."""
        self._process.terminate()
        self._process.communicate(timeout=READY_S)


if __name__ == "__main__":
    raise SystemExit(missing())
