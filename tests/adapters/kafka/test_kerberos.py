"""SASL/GSSAPI with a real KDC and a real broker; and what to do where a ticket is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing

import pytest

from kafka_servers import or_failed
from kerberos_realm import REALM, Realm
from own_listeners import broker_with
from rackwise.adapters.kafka.security import security_arguments
from rackwise.core.errors import InvalidConfig, MissingDependency
from rackwise.core.identity.refusals import SecretExposed
from rackwise.core.secret import Secret

MODULE = "com.sun.security.auth.module.Krb5LoginModule required"
GSSAPI = {"security.protocol": "SASL_PLAINTEXT"}


def login(line):
    return GSSAPI | {"sasl.jaas.config": Secret(line)}


class TestSettings:
    """Without a KDC and without the package."""

    @pytest.fixture(autouse=True)
    def without_gssapi(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "gssapi", None)

    def test_gssapi_is_the_default_mechanism_and_says_what_to_install(self):
        with pytest.raises(MissingDependency, match="gssapi is required to log in") as caught:
            security_arguments(GSSAPI)
        assert caught.value.hint.startswith('pip install "rackwise[gssapi]"; ')
        assert "libkrb5-dev" in caught.value.hint

    def test_a_keytab_that_is_not_there_or_not_used_is_named(self, tmp_path):
        with pytest.raises(InvalidConfig, match="cannot read keytab /none: No such file") as caught:
            security_arguments(login(f'{MODULE} useKeyTab=true keyTab="/none" principal="u";'))
        assert "run kinit, or set KRB5_CLIENT_KTNAME" in caught.value.hint
        with pytest.raises(InvalidConfig, match="expected useKeyTab=true beside keyTab"):
            security_arguments(login(f'{MODULE} keyTab="/none";'))
        keytab = tmp_path / "client.keytab"
        keytab.touch(0o644)
        with pytest.raises(SecretExposed, match="holds a Kerberos key"):
            security_arguments(GSSAPI | {"sasl.kerberos.keytab": str(keytab)})


@pytest.fixture(scope="module")
def realm(tmp_path_factory):
    with closing(or_failed(lambda: Realm(tmp_path_factory.mktemp("realm")))) as made:
        yield made


@pytest.fixture(scope="module")
def client(realm):
    """The keytab of a client."""
    return realm.keytab("client")


@pytest.fixture(scope="module")
def bootstrap(realm, java_home, tmp_path_factory):
    """The GSSAPI listener of a broker with the principal kafka/localhost."""
    keytab = realm.keytab("kafka/localhost")
    jaas = f'{MODULE} useKeyTab=true storeKey=true keyTab="{keytab}" '
    jaas += f'principal="kafka/localhost@{REALM}";'
    overrides = {
        "sasl.enabled.mechanisms": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "listener.name.kerberos.gssapi.sasl.jaas.config": jaas,
    }
    folder = tmp_path_factory.mktemp("kerberos")
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("JAVA_TOOL_OPTIONS", f"-Djava.security.krb5.conf={realm.config}")
        listeners = {"KERBEROS": "SASL_PLAINTEXT"}
        with broker_with(listeners, folder, java_home, overrides, host="localhost") as broker:
            yield broker.addresses["KERBEROS"]


CASES = {
    "keytab in the login line": [
        f"sasl.jaas.config={MODULE} useKeyTab=true keyTab='KEYTAB' principal='client@{REALM}';",
        "sasl.kerberos.service.name=kafka",
    ],
    "librdkafka": [
        "sasl.mechanisms=GSSAPI",
        "sasl.kerberos.keytab=KEYTAB",
        f"sasl.kerberos.principal=client@{REALM}",
        "sasl.kerberos.kinit.cmd=kinit",
    ],
    "kinit": [],
    "file of kinit": [f'sasl.jaas.config={MODULE} useTicketCache=true ticketCache="TICKETS";'],
    "client keytab": [],
    "no ticket": [],
    "stranger": ["sasl.kerberos.keytab=KEYTAB", f"sasl.kerberos.principal=stranger@{REALM}"],
    "unknown service": ["sasl.kerberos.keytab=KEYTAB", "sasl.kerberos.service.name=other"],
}
"""Name -> lines of the settings file."""
RUN_ALL = """
import contextlib, io, json, os, sys
from rackwise.cli.main import run
outcomes = {}
for name, (words, environ) in json.load(sys.stdin).items():
    os.environ.update(environ)
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = run(words)
    outcomes[name] = code, out.getvalue(), err.getvalue()
print(json.dumps(outcomes))
"""  # noqa: E501 (one statement)


@pytest.fixture(scope="module")
def outcomes(realm, bootstrap, client, tmp_path_factory):
    """Case -> exit code, stdout and stderr of `rackwise audit`, all in one process of the realm."""
    folder = tmp_path_factory.mktemp("clients")
    realm.run("kinit", "-kt", str(client), "client", KRB5CCNAME=f"FILE:{folder}/tickets")
    environs = {name: {"KRB5CCNAME": f"FILE:{folder}/none"} for name in CASES}
    environs["kinit"] = {"KRB5CCNAME": f"FILE:{folder}/tickets"}
    environs["client keytab"] = {
        "KRB5CCNAME": f"FILE:{folder}/fresh",
        "KRB5_CLIENT_KTNAME": str(client),
    }
    environs["no ticket"] = environs["no ticket"] | {"KRB5_CLIENT_KTNAME": f"{folder}/none"}
    commands = {}
    for name, lines in CASES.items():
        path = folder / f"{name}.properties"
        text = "\n".join(["security.protocol=SASL_PLAINTEXT", *lines])
        path.write_text(text.replace("KEYTAB", str(client)).replace("TICKETS", f"{folder}/tickets"))
        words = ["--quiet", "audit", "--bootstrap-server", bootstrap]
        commands[name] = [[*words, "--command-config", str(path)], environs[name]]
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL],
        env={**os.environ, **realm.environ},
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # noqa: TID251 (as any program reads it)


@pytest.mark.kafka
@pytest.mark.kerberos
class TestRealm:
    """A KDC of MIT Kerberos, and Kafka's own GSSAPI."""

    @pytest.mark.parametrize(
        "case",
        ["keytab in the login line", "librdkafka", "kinit", "file of kinit", "client keytab"],
    )
    def test_a_client_with_tickets_or_a_key_logs_in(self, outcomes, case):
        code, out, err = outcomes[case]
        assert (code, err) == (0, "")
        assert "1 broker" in out

    def test_no_ticket_is_one_error_that_says_what_to_do(self, outcomes):
        code, out, err = outcomes["no ticket"]
        error, hint = err.splitlines()
        assert (code, out) == (1, "")
        assert error.startswith("error: no Kerberos ticket from the ticket cache: ")
        assert hint.startswith("hint: run kinit, or set KRB5_CLIENT_KTNAME to a keytab, or set ")

    def test_a_keytab_without_the_principal_is_named(self, outcomes, client):
        code, _, err = outcomes["stranger"]
        assert code == 1
        assert f"no Kerberos ticket from keytab {client} for stranger@{REALM}: " in err

    def test_a_service_that_the_realm_does_not_know_is_refused_at_once(self, outcomes):
        code, _, err = outcomes["unknown service"]
        error, _hint = err.splitlines()
        assert code == 1
        assert "Kerberos has no ticket for other@localhost: Server " in error
        assert error.endswith("not found in Kerberos database")
