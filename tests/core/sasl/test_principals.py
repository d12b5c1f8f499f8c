"""Who a client is: `User:` and a name, or the subject of a certificate."""

from __future__ import annotations

import pytest

from rackwise.core.errors import InvalidConfig
from rackwise.core.sasl.principals import certificate_principal, check_allowed


def test_a_subject_is_written_last_part_first():
    subject = ((("organizationName", "Example"),), (("commonName", "a"), ("userId", "b")))
    assert certificate_principal(subject) == "User:CN=a+UID=b,O=Example"
    assert certificate_principal(((("serialNumber", "1"),),)) == "User:serialNumber=1"
    assert certificate_principal(()) is None


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a,O=b", "a\\,O\\=b"),
        ("#a", "\\#a"),
        ("a=b#c", "a\\=b\\#c"),
        (" a ", "\\ a\\ "),
        (" ", "\\ "),
        ("a\\", "a\\\\"),
    ],
)
def test_a_name_cannot_pass_for_two_parts(name, written):
    found = certificate_principal(((("commonName", name),),))
    assert found == f"User:CN={written}"


def test_principals_of_the_command_line():
    assert check_allowed(["User:a", "User:CN=b"]) == {"User:a", "User:CN=b"}
    for wrong in ("", "alice", "User:", "User:*", "Group:a"):
        with pytest.raises(InvalidConfig, match="invalid --allow: expected User:NAME, got "):
            check_allowed([wrong])
