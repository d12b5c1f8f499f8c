"""References in client settings: what is looked up, whose mode is checked, what is refused."""

from __future__ import annotations

import pytest

from rackwise.adapters.kafka import read_client_config
from rackwise.core.errors import InvalidConfig, SettingsWarning
from rackwise.core.identity.refusals import SecretExposed

CANARY = "canary-8Fq"
PROVIDER = "org.apache.kafka.common.config.provider"


@pytest.fixture
def settings_of(tmp_path):
    """The settings of a file that anybody may read."""

    def call(text, **environ):
        path = tmp_path / "client.properties"
        path.write_text(text)
        path.chmod(0o644)
        return read_client_config(path, environ=environ)

    return call


@pytest.fixture
def secrets(tmp_path):
    path = tmp_path / "secrets.properties"
    path.write_text(f"store\\ pw={CANARY}\nlast=\\u00e9\n")
    path.chmod(0o600)
    return path


def test_a_value_comes_from_a_key_of_another_file(settings_of, secrets):
    found = settings_of(f"ssl.truststore.password=${{file:{secrets}:store pw}}\n")
    assert found["ssl.truststore.password"].reveal() == CANARY
    assert CANARY not in f"{found}"


@pytest.mark.parametrize("name", ["dir", "directory"])
def test_a_value_is_the_content_of_a_file_in_a_folder(settings_of, tmp_path, name):
    (tmp_path / "pw").write_text(f" {CANARY} \n")
    (tmp_path / "pw").chmod(0o400)
    found = settings_of(f"ssl.key.password=${{{name}:{tmp_path}:pw}}\n")
    assert found["ssl.key.password"].reveal() == f" {CANARY} "


def test_a_password_in_a_login_line_may_be_any_reference(settings_of, secrets):
    line = f"M required username=u password='${{file:{secrets}:store pw}}';"
    found = settings_of(f"sasl.jaas.config={line}")["sasl.jaas.config"]
    assert found.reveal() == f"M required username=u password='{CANARY}';"


def test_names_of_providers_are_those_of_the_file(settings_of, secrets):
    found = settings_of(
        f"config.providers=vault\nconfig.providers.vault.class={PROVIDER}.FileConfigProvider\n"
        f"client.id=${{vault:{secrets}:last}}\na=${{other:{secrets}:last}}\nb=${{file:x}}\n"
    )
    assert found["client.id"] == "é"
    assert found["a"] == f"${{other:{secrets}:last}}"
    assert found["b"] == "${file:x}"


@pytest.mark.parametrize(
    "line",
    ["config.providers.v.class=com.example.Vault", "config.providers.v.param.allowed.paths=/x"],
)
def test_a_provider_that_cannot_be_obeyed_is_refused_with_its_line(settings_of, line):
    with pytest.raises(InvalidConfig, match="invalid config provider: ") as caught:
        settings_of(f"a=1\n{line}\n")
    assert caught.value.where.endswith("client.properties:2")


def test_a_secret_from_a_file_that_others_may_read_is_refused(settings_of, secrets):
    secrets.chmod(0o644)
    with pytest.raises(SecretExposed, match=r"holds ssl\.key\.password") as caught:
        settings_of(f"ssl.key.password=${{file:{secrets}:last}}\n")
    assert caught.value.where == str(secrets)
    assert settings_of(f"client.id=${{file:{secrets}:last}}\n") == {"client.id": "é"}
    secrets.chmod(0o440)
    with pytest.warns(SettingsWarning, match="its group may read it"):
        settings_of(f"ssl.key.password=${{file:{secrets}:last}}\n")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("${file:FOLDER/none:key}", "cannot read referenced file "),
        ("${file:FOLDER/secrets.properties:none}", "expected none in .*, got no such key"),
        ("${dir:FOLDER:../secrets.properties}", "expected a name, got ../secrets.properties"),
        ("${dir:FOLDER:..}", "expected a name, got .."),
        ("${dir:FOLDER:latin}", "expected UTF-8, got another byte at 0"),
        ("${file:FOLDER/bad:a}", "expected escapes of Java, got others"),
        ("${env:NONE}", "environment variable NONE is not set"),
    ],
)
def test_a_reference_to_nothing_is_refused_with_its_line(
    settings_of, secrets, tmp_path, value, said
):
    (tmp_path / "latin").write_bytes(b"\xe9")
    (tmp_path / "bad").write_text(f"a={CANARY}\\u00")
    for name in ("latin", "bad"):
        (tmp_path / name).chmod(0o600)
    with pytest.raises(InvalidConfig, match=said) as caught:
        settings_of(f"\nssl.key.password={value.replace('FOLDER', str(secrets.parent))}\n")
    assert caught.value.where.endswith("client.properties:2")
    assert CANARY not in str(caught.value.as_dict())
