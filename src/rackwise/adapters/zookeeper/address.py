"""The address of a store in ZooKeeper: `zookeeper://host:2181,host2:2181/chroot`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.adapters.https import is_this_machine
from rackwise.core.errors import InvalidConfig
from rackwise.core.override import override
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from typing import Self

SCHEME = "zookeeper://"
STORE_OPTION = "--store"
_HOST = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
_CHROOT = re.compile(r"(?:/[^/\x00-\x1f\x7f-\x9f]+)*")
_FORM = "HOST:PORT[,HOST:PORT...][/CHROOT]"
_DOTS = {".", ".."}


@dataclass(frozen=True, slots=True)
class Address:
    """An address. `connect`: hosts and chroot, as in `zookeeper.connect`."""

    connect: str
    option: str = STORE_OPTION
    """The option of the command that names the address, for hints."""

    @classmethod
    def of_connect(cls, text: str, option: str) -> Self:
        """Parse the value of an option that is written as `zookeeper.connect`, without a scheme.

        Raises `InvalidConfig`, which names the option.

        >>> Address.of_connect("a:2181/kafka", "--zookeeper")
        Address(connect='a:2181/kafka', option='--zookeeper')
        """
        try:
            return cls.parse(SCHEME + text, option)
        except InvalidConfig:
            raise InvalidConfig(
                f"invalid {option}: expected {_FORM}, got {escaped(text)}",
                wanted=_FORM,
                had=text,
                hint=f"use for example {option} zk-1:2181,zk-2:2181/kafka",
            ) from None

    @classmethod
    def parse(cls, url: str, option: str = STORE_OPTION) -> Self:
        """Parse an address that an option names. Raises `InvalidConfig`.

        >>> Address.parse("zookeeper://a:2181,b:2181/kafka/").connect
        'a:2181,b:2181/kafka'
        """
        if not url.startswith(SCHEME):
            raise _invalid(url)
        hosts, slash, below = url.removeprefix(SCHEME).partition("/")
        chroot = (slash + below).rstrip("/")
        if not _CHROOT.fullmatch(chroot) or _DOTS & {*chroot.split("/")}:
            raise _invalid(url)
        for host in hosts.split(","):
            found = _HOST.fullmatch(host.strip())
            if found is None or not 0 < int(found["port"] or 2181) < 1 << 16:
                raise _invalid(url)
        return cls(",".join(each.strip() for each in hosts.split(",")) + chroot, option)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts without their ports.

        >>> Address.parse("zookeeper://[::1]:2181,b").hosts
        ('::1', 'b')
        """
        found = map(_HOST.match, self.connect.partition("/")[0].split(","))
        return tuple(each["host"].strip("[]") for each in found if each)

    @property
    def is_loopback(self) -> bool:
        """Whether all hosts are this machine, so that no traffic leaves it."""
        return all(is_this_machine(host) for host in self.hosts)

    @override
    def __str__(self) -> str:
        return SCHEME + self.connect


def _invalid(url: str) -> InvalidConfig:
    return InvalidConfig(
        f"invalid store: expected {SCHEME}{_FORM}, got {escaped(url)}",
        wanted=SCHEME + _FORM,
        had=url,
        hint="use for example --store zookeeper://zk-1:2181,zk-2:2181/kafka",
    )
