"""A software bill of materials in CycloneDX 1.6: `python requirements/sbom.py OUT`.

Lists the Python packages of `dev.txt`, the superset of every extra, and the jars that real servers
run on. Licences of Python packages are those that the installed packages state; a package for
another platform is not installed, and has none. The same locks give the same bytes.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)
JARS = ROOT / "src" / "rackwise" / "adapters" / "sandbox" / "jars.toml"
CLASSIFIED = "License :: "


def packages() -> list[dict[str, object]]:
    """The components of the lock of Python packages."""
    found = PINNED.findall((ROOT / "requirements" / "dev.txt").read_text())
    return [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}@{version}",
            "purl": f"pkg:pypi/{name}@{version}",
            "name": name,
            "version": version,
            **licence_of(name),
        }
        for name, version in sorted(set(found))
    ]


def licence_of(name: str) -> dict[str, object]:
    """The licence that an installed package states: an SPDX expression, or its own words."""
    try:
        stated = metadata(name)
    except PackageNotFoundError:
        return {}
    expression = stated.get("License-Expression")
    if expression:
        return {"licenses": [{"expression": expression}]}
    classifiers = [
        each.rpartition(" :: ")[2]
        for each in stated.get_all("Classifier") or ()
        if each.startswith(CLASSIFIED)
    ]
    words = ", ".join(classifiers) or (stated.get("License") or "").split("\n")[0]
    return {"licenses": [{"license": {"name": words}}]} if words else {}


def jars() -> list[dict[str, object]]:
    """The components of the lock of jars."""
    rows = tomllib.loads(JARS.read_text())["jars"]
    return [
        {
            "type": "library",
            "bom-ref": f"pkg:maven/{group}/{name}@{version}",
            "purl": f"pkg:maven/{group}/{name}@{version}",
            "group": group,
            "name": name,
            "version": version,
            "hashes": [{"alg": "SHA-512", "content": row["sha512"]}],
        }
        for row in rows
        for group, name, version in [row["jar"].split(":")]
    ]


def bill() -> dict[str, object]:
    """The whole document."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": f"pkg:pypi/{project['name']}@{project['version']}",
                "name": project["name"],
                "version": project["version"],
                "licenses": [{"expression": project["license"]}],
            }
        },
        "components": [*packages(), *jars()],
    }


if __name__ == "__main__":
    out = Path(sys.argv[1])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(bill(), indent=1, sort_keys=True) + "\n")
    print(out)
