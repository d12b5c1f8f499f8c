"""What a store holds, and the errors of stores."""

from __future__ import annotations

from dataclasses import dataclass, field

from rackwise.core.errors import InvalidConfig
from rackwise.core.text import escaped


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateKey:
    """A private key and its certificates."""

    alias: str
    pkcs8: bytes = field(repr=False)
    """The key in clear: DER of PKCS #8."""
    chain: tuple[bytes, ...]
    """DER of its certificates, its own first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreContent:
    """The entries of a store."""

    keys: tuple[PrivateKey, ...] = ()
    certificates: tuple[bytes, ...] = ()
    """DER of the certificates that are trusted."""


@dataclass(frozen=True, slots=True)
class StoreName:
    """The setting and the file of a store, for errors."""

    setting: str
    """`ssl.keystore` or `ssl.truststore`."""
    path: str

    def error(self, problem: str, *, wanted: str, had: str, hint: str) -> InvalidConfig:
        """The error of a store; no text of a secret is in it."""
        return InvalidConfig(
            f"cannot load {self.setting}.location {escaped(self.path)}: {escaped(problem)}",
            wanted=wanted,
            had=had,
            hint=hint,
            where=f"{self.setting}.location",
        )

    def wrong_password(self) -> InvalidConfig:
        """The error if the password does not open the store."""
        return self.error(
            f"{self.setting}.password is wrong, or the store was changed",
            wanted="the password of the store",
            had="another password",
            hint=f"check it with keytool -list -keystore {escaped(self.path)}",
        )

    def no_password(self) -> InvalidConfig:
        """The error if the store needs a password and none is set."""
        return self.error(
            f"expected {self.setting}.password, got none",
            wanted=f"{self.setting}.password",
            had="none",
            hint=f"set {self.setting}.password=${{env:STORE_PASSWORD}}",
        )

    def damaged(self, why: str) -> InvalidConfig:
        """The error if the bytes are not a whole store."""
        return self.error(
            f"the store is damaged: {why}",
            wanted="a whole store",
            had=why,
            hint="copy the store again",
        )

    def several_keys(self, had: str) -> InvalidConfig:
        """The error if the store has several private keys; `had`: their number or names."""
        return self.error(
            f"expected one private key, got {had}",
            wanted="one private key",
            had=had,
            hint="copy one of them into a store of its own: keytool -importkeystore -srcalias NAME",
        )
