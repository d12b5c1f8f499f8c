"""Stores that Java's own keytool makes: JKS, PKCS12, JCEKS, with keys of a test's authority."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    load_pem_private_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
from cryptography.x509 import load_pem_x509_certificate

if TYPE_CHECKING:
    from pathlib import Path

STORE_PASSWORD = "canary-Store-9Qe"  # noqa: S105 (it guards keys made anew in each run)
KEY_PASSWORD = "canary-Key-4Rb"  # noqa: S105 (the same)


@dataclass(frozen=True)
class JavaStores:
    """Makes stores in a folder."""

    folder: Path
    java_home: Path

    def keytool(self, verb, *words):
        """Run keytool; a failure shows its output."""
        command = [str(self.java_home / "bin" / "keytool"), f"-{verb}", "-noprompt", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def truststore(self, kind, *authorities):
        """The path of a new store that trusts these certificates (PEM)."""
        path = self._new(f"trust.{kind}")
        for number, pem in enumerate(authorities):
            file = self._new("authority.pem")
            file.write_text(pem)
            self.keytool(
                *("importcert", "-alias", f"authority-{number}", "-file", str(file)),
                *("-keystore", str(path), "-storetype", kind, "-storepass", STORE_PASSWORD),
            )
        return path

    def keystore(self, kind, *pairs):
        """The path of a new store with these keys, `(alias, key, certificate, *issuers)` in PEM.

        In JKS and JCEKS each key has `KEY_PASSWORD`, in PKCS12 the password of the store.
        """
        path = self._new(f"key.{kind}")
        for alias, key, certificate, *issuers in pairs:
            source = self._new("source.p12")
            source.write_bytes(
                serialize_key_and_certificates(
                    alias.encode(),
                    load_pem_private_key(key.encode(), None),
                    load_pem_x509_certificate(certificate.encode()),
                    [load_pem_x509_certificate(each.encode()) for each in issuers],
                    BestAvailableEncryption(STORE_PASSWORD.encode()),
                )
            )
            own = STORE_PASSWORD if kind == "PKCS12" else KEY_PASSWORD
            self.keytool(
                *("importkeystore", "-srckeystore", str(source), "-srcstoretype", "PKCS12"),
                *("-srcstorepass", STORE_PASSWORD, "-srcalias", alias, "-destkeypass", own),
                *("-destkeystore", str(path), "-deststoretype", kind),
                *("-deststorepass", STORE_PASSWORD),
            )
        path.chmod(0o600)
        return path

    def _new(self, name):
        return self.folder / f"{len([*self.folder.iterdir()])}-{name}"
