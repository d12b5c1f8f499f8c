"""The guide to connecting: every file shown is read, every setting of tokens is explained."""

import pytest

from rackwise.adapters.kafka import read_client_config
from rackwise.adapters.kafka.logins import keys
from rackwise.adapters.kafka.logins.msk_iam import OPTIONS
from rackwise.adapters.kafka.security import security_arguments
from shown_commands import ROOT, blocks_of

GUIDE = ROOT / "docs" / "guides" / "connect.md"
FILES = [text for _, text in blocks_of(GUIDE, "properties")]
ENVIRONMENT = {
    "KEY_PASSWORD": "a",
    "KAFKA_PASSWORD": "b",
    "CLIENT_SECRET": "c",
    "TRUSTSTORE_PASSWORD": "d",
    "KEYSTORE_PASSWORD": "e",
}
SECRETS = "/etc/kafka/secrets.properties"


@pytest.mark.parametrize("text", FILES)
def test_every_file_shown_is_read(tmp_path, text):
    path = tmp_path / "client.properties"
    secrets = tmp_path / "secrets.properties"
    secrets.write_text("truststore.password=f\n")
    secrets.chmod(0o600)
    path.write_text(text.replace(SECRETS, str(secrets)))
    path.chmod(0o600)
    settings = read_client_config(path, environ=ENVIRONMENT)
    if "/etc/" not in text:  # the others name files of a machine
        hosts = ["b-1.audit.abc123.c2.kafka.eu-west-1.amazonaws.com:9098"]
        assert security_arguments(settings, hosts)["security_protocol"]


def test_every_setting_and_option_of_a_token_is_explained():
    text = GUIDE.read_text()
    assert [name for name in (*keys.SETTINGS, *OPTIONS) if f"`{name}`" not in text] == []
