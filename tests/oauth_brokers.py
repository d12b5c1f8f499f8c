"""Brokers with a listener for SASL/OAUTHBEARER under TLS; Kafka's own validator checks tokens."""

from __future__ import annotations

from contextlib import contextmanager

from kafka_pem import AUTHORITY, CERTIFICATE, KEY
from kafka_servers import KRAFT_SET
from rackwise.adapters.sandbox import Sandbox, resolve
from rackwise.adapters.sandbox.blueprint import ClusterSpec
from rackwise.adapters.sandbox.kraft import kraft_blueprint
from rackwise.adapters.sandbox.ports import free_ports
from rackwise.core.secret import Secret
from token_issuers import AUDIENCE, CLIENT, ISSUER

OAUTH = "org.apache.kafka.common.security.oauthbearer."
MODULE = OAUTH + "OAuthBearerLoginModule required"
HANDLER = OAUTH + "OAuthBearerLoginCallbackHandler"


@contextmanager
def oauth_cluster(java_home, folder, issuer, *, brokers, **overrides):
    """A running sandbox; `login` is the bootstrap string of its listener for tokens."""
    keystore, trusted = folder / "broker.pem", folder / "ca.pem"
    keystore.write_text(KEY + CERTIFICATE + AUTHORITY)
    trusted.write_text(AUTHORITY)
    of_listener = "listener.name.login."
    request = ClusterSpec(
        brokers=brokers,
        racks=("a", "b", "c"),
        java_home=java_home,
        jars=resolve(KRAFT_SET),
        heap_mib=256,
        overrides={
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:ANONYMOUS;User:{CLIENT}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
            "LOGIN:SASL_SSL",
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            of_listener + "ssl.keystore.type": "PEM",
            of_listener + "ssl.keystore.location": str(keystore),
            of_listener + "oauthbearer.sasl.server.callback.handler.class": OAUTH
            + "OAuthBearerValidatorCallbackHandler",
            of_listener + "oauthbearer.sasl.jaas.config": f'{MODULE} ssl.truststore.type="PEM" '
            f'ssl.truststore.location="{trusted}" unsecuredLoginStringClaim_sub="broker";',
            "sasl.oauthbearer.jwks.endpoint.url": issuer.jwks_url,
            "sasl.oauthbearer.expected.audience": AUDIENCE,
            "sasl.oauthbearer.expected.issuer": ISSUER,
            "sasl.oauthbearer.clock.skew.seconds": "0",
            **{key.replace("_", "."): value for key, value in overrides.items()},
        },
    )
    blueprint = kraft_blueprint(request, folder)
    ports = free_ports(brokers)
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={issuer.jwks_url}"
    for broker in range(brokers):
        properties = folder / f"broker-{broker}" / "server.properties"
        lines = properties.read_text().splitlines()
        (listeners,) = [line for line in lines if line.startswith("listeners=")]
        lines.append(f"{listeners},LOGIN://127.0.0.1:{ports[broker]}")
        properties.write_text("\n".join(lines) + "\n")
        process = blueprint.servers[broker]
        process.command = (process.command[0], allowed, *process.command[1:])
    with Sandbox(blueprint, folder, is_temporary=False) as made:
        for broker in range(brokers):
            made.start(broker)
        made.wait_until_ready()
        made.login = ",".join(f"127.0.0.1:{port}" for port in ports)
        yield made


def settings_of(issuer, folder, **more):
    """Client settings, as Java's; a value None removes a line."""
    trusted = folder / "brokers-ca.pem"
    trusted.write_text(AUTHORITY)
    settings = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.login.callback.handler.class": HANDLER,
        "sasl.oauthbearer.token.endpoint.url": issuer.url,
        "sasl.oauthbearer.client.credentials.client.id": CLIENT,
        "sasl.oauthbearer.client.credentials.client.secret": Secret(issuer.secret),
        "sasl.jaas.config": Secret(
            f'{MODULE} ssl.truststore.type="PEM" ssl.truststore.location="{issuer.authority}";'
        ),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trusted),
        **more,
    }
    return {key: value for key, value in settings.items() if value is not None}


def properties_of(settings):
    """The text of a client properties file."""
    return "".join(
        f"{key}={value.reveal() if isinstance(value, Secret) else value}\n"
        for key, value in settings.items()
    )
