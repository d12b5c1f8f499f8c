"""The names of what token logins read: client settings, JAAS options, classes of Java.

Java loads a class where this package has a decision; `OF_KAFKA` and the names of AWS are the
classes whose work is known here. Source: KIP-768, KIP-1139, KIP-1258, `aws-msk-iam-auth`.
"""

from __future__ import annotations

from rackwise.adapters.kafka.setting_names import TLS_SECRETS

OAUTHBEARER, AWS_MSK_IAM = "OAUTHBEARER", "AWS_MSK_IAM"
MECHANISMS = (OAUTHBEARER, AWS_MSK_IAM)

ENDPOINT_URL = "sasl.oauthbearer.token.endpoint.url"
CLIENT_ID = "sasl.oauthbearer.client.credentials.client.id"
CLIENT_SECRET = "sasl.oauthbearer.client.credentials.client.secret"  # noqa: S105 (a name)
SCOPE = "sasl.oauthbearer.scope"
URL_ENCODE = "sasl.oauthbearer.header.urlencode"
LOGIN_HANDLER = "sasl.login.callback.handler.class"
CLIENT_HANDLER = "sasl.client.callback.handler.class"
RETRIEVER = "sasl.oauthbearer.jwt.retriever.class"
CONNECT_TIMEOUT = "sasl.login.connect.timeout.ms"
READ_TIMEOUT = "sasl.login.read.timeout.ms"

WITHOUT_EFFECT = (
    "sasl.login.refresh.buffer.seconds",
    "sasl.login.refresh.min.period.seconds",
    "sasl.login.refresh.window.factor",
    "sasl.login.refresh.window.jitter",
    "sasl.login.retry.backoff.max.ms",
    "sasl.login.retry.backoff.ms",
    "sasl.oauthbearer.jwt.validator.class",
    "sasl.oauthbearer.scope.claim.name",
    "sasl.oauthbearer.sub.claim.name",
)
"""What only tunes Java's own client: its refresh thread, and checks that the broker repeats."""

SETTINGS = (
    ENDPOINT_URL,
    CLIENT_ID,
    CLIENT_SECRET,
    SCOPE,
    URL_ENCODE,
    LOGIN_HANDLER,
    CLIENT_HANDLER,
    RETRIEVER,
    CONNECT_TIMEOUT,
    READ_TIMEOUT,
    *WITHOUT_EFFECT,
)
SECRETS = (CLIENT_SECRET,)

_OAUTH = "org.apache.kafka.common.security.oauthbearer."
OF_KAFKA = (
    _OAUTH + "OAuthBearerLoginCallbackHandler",
    _OAUTH + "secured.OAuthBearerLoginCallbackHandler",
)
RETRIEVERS = (
    _OAUTH + "DefaultJwtRetriever",
    _OAUTH + "ClientCredentialsJwtRetriever",
    _OAUTH + "FileJwtRetriever",
)
TOKEN_MODULES = (_OAUTH + "OAuthBearerLoginModule", "software.amazon.msk.auth.iam.IAMLoginModule")
_OF_AWS = "software.amazon.msk.auth.iam."
AWS_OAUTH_HANDLER = _OF_AWS + "IAMOAuthBearerLoginCallbackHandler"
AWS_IAM_HANDLER = _OF_AWS + "IAMClientCallbackHandler"

_SECRET_OPTIONS = (
    "password",
    "clientSecret",
    "awsRoleSecretAccessKey",
    "awsRoleSessionToken",
    *TLS_SECRETS,
)


def jaas_secrets(line: str) -> tuple[str, ...] | None:
    """The options of a JAAS line that are secrets where they are set; None if it is not known.

    >>> jaas_secrets("software.amazon.msk.auth.iam.IAMLoginModule required;")[:2]
    ('password', 'clientSecret')
    """
    return _SECRET_OPTIONS if line.strip().startswith(TOKEN_MODULES) else None
