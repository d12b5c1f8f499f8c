"""The login of a client's settings that sends a token, or none for a password."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rackwise.adapters.kafka.logins import keys
from rackwise.adapters.kafka.logins.msk_iam import msk_login
from rackwise.adapters.kafka.logins.oauth import oauth_login, unknown_class
from rackwise.adapters.kafka.logins.token_login import TOKENS
from rackwise.core.errors import InvalidConfig
from rackwise.core.secret import Secret

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping, Sequence


def token_login(
    settings: Mapping[str, str | Secret],
    options: Mapping[str, str],
    *,
    mechanism: str,
    servers: Sequence[str],
    tls: Callable[[Mapping[str, str | Secret]], ssl.SSLContext],
) -> dict[str, Any]:
    """Arguments `sasl_mechanism` and `sasl_oauth_token_provider` for a kafka-python client.

    `options`: those of `sasl.jaas.config`; `mechanism`: one of `keys.MECHANISMS`; `servers`:
    `HOST:PORT` of the bootstrap servers; `tls`: the TLS context of settings `ssl.*`. Raises
    `InvalidConfig` and `MissingDependency`.
    """
    texts = {
        key: value.reveal() if isinstance(value, Secret) else value.strip()
        for key, value in settings.items()
    }
    provider = (
        msk_login(options, servers)
        if _is_iam(texts, mechanism)
        else oauth_login(texts, options, tls=tls)
    )
    return {"sasl_mechanism": keys.OAUTHBEARER, TOKENS: provider}


def _is_iam(settings: Mapping[str, str], mechanism: str) -> bool:
    """Whether AWS signs the token. Raises `InvalidConfig` for a class that is not known."""
    of_login, of_client = keys.LOGIN_HANDLER, keys.CLIENT_HANDLER
    login, client = settings.get(of_login, ""), settings.get(of_client, "")
    if mechanism == keys.AWS_MSK_IAM:
        if client not in {"", keys.AWS_IAM_HANDLER}:
            raise unknown_class(of_client, client, (keys.AWS_IAM_HANDLER,))
        if login:
            raise unknown_class(of_login, login, (keys.AWS_IAM_HANDLER,))
        _check_encrypted(settings)
        return True
    if login not in {"", *keys.OF_KAFKA, keys.AWS_OAUTH_HANDLER}:
        raise unknown_class(of_login, login, (*keys.OF_KAFKA, keys.AWS_OAUTH_HANDLER))
    if client not in {"", keys.AWS_OAUTH_HANDLER}:
        raise unknown_class(of_client, client, (keys.AWS_OAUTH_HANDLER,))
    if keys.AWS_OAUTH_HANDLER not in {login, client}:
        return False
    _check_encrypted(settings)
    return True


def _check_encrypted(settings: Mapping[str, str]) -> None:
    found = settings.get("security.protocol", "").upper()
    if found != "SASL_SSL":
        raise InvalidConfig(
            f"invalid security.protocol: expected SASL_SSL for a login with IAM, got {found}",
            wanted="SASL_SSL",
            had=found,
            hint="set security.protocol=SASL_SSL: MSK takes IAM on its TLS ports alone",
            where="security.protocol",
        )
