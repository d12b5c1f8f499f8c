"""IAM of Amazon MSK: a signed request of AWS as the token of SASL/OAUTHBEARER.

Java's clients speak the mechanism AWS_MSK_IAM, others OAUTHBEARER with the same signature; both
come to the same port of the brokers. The signature is made by `aws-msk-iam-sasl-signer-python`, and
holds for 15 minutes.

```
sasl.mechanism=AWS_MSK_IAM
sasl.jaas.config=software.amazon.msk.auth.iam.IAMLoginModule required awsProfileName="audit";
sasl.client.callback.handler.class=software.amazon.msk.auth.iam.IAMClientCallbackHandler
```

The region is that of the bootstrap server's name; for another name it is AWS_REGION,
AWS_DEFAULT_REGION, or the region of the profile.

What this does not do: retry and log as `awsMaxRetries`, `awsMaxBackOffTimeMs` and `awsDebugCreds`
say. They have no effect: botocore retries, and credentials are not logged.

Source: `aws-msk-iam-auth` (options), `aws-msk-iam-sasl-signer-python` (signature).
"""

from __future__ import annotations

import importlib
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rackwise.adapters.clock import wall_clock_s
from rackwise.adapters.kafka.logins.quiet_logs import quiet_logs
from rackwise.adapters.kafka.logins.token import Token, read_token
from rackwise.adapters.kafka.logins.token_login import TokenLogin
from rackwise.core.errors import (
    AuthenticationFailed,
    InvalidConfig,
    MissingDependency,
    RackwiseError,
    Unreachable,
)
from rackwise.core.text import escaped
from rackwise.core.tls_faults import TlsHints, tls_fault

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

CONNECT_S, READ_S = 5, 10
"""Timeouts of AWS STS."""
SESSION = "rackwise"
"""The session name of a role, unless `awsRoleSessionName` gives one."""
LOGGERS = ("boto3", "botocore", "urllib3")
"""What logs credentials and signed requests at DEBUG."""

_WITHOUT_EFFECT = ("awsMaxRetries", "awsMaxBackOffTimeMs", "awsDebugCreds")
_ROLE_KEYS = ("awsRoleAccessKeyId", "awsRoleSecretAccessKey", "awsRoleSessionToken")
OPTIONS = (
    "awsProfileName",
    "awsRoleArn",
    "awsRoleSessionName",
    "awsRoleExternalId",
    "awsStsRegion",
    *_ROLE_KEYS,
    *_WITHOUT_EFFECT,
)
_STS_HINT = "check that AWS STS can be reached from here; a VPC needs an endpoint for it"
_TLS_HINTS = TlsHints(
    address="AWS_ENDPOINT_URL_STS, if it is set",
    authority="set AWS_CA_BUNDLE to a PEM file with the authorities that you trust",
    own=_STS_HINT,
)
_HOST = re.compile(
    r"\.kafka(?:-serverless)?\.([a-z]{2,}(?:-[a-z]+)+-[0-9]+)\.amazonaws\.com(?:\.cn)?\Z"
)
_CREDENTIALS_HINT = (
    "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or awsProfileName or "
    "awsRoleArn in sasl.jaas.config; `aws sts get-caller-identity` shows who you are"
)


def msk_login(options: Mapping[str, str], servers: Sequence[str]) -> TokenLogin:
    """The tokens of AWS credentials; `servers`: `HOST:PORT` of the bootstrap servers.

    Raises `InvalidConfig` for an unknown option and an unknown region, and `MissingDependency`
    without AWS's signer.
    """
    for name in options:
        if name not in OPTIONS:
            raise InvalidConfig(
                f"option {escaped(name)} of sasl.jaas.config is not supported for IAM",
                wanted=", ".join(OPTIONS),
                had=name,
                hint="remove it, or set awsProfileName or awsRoleArn",
                where="sasl.jaas.config",
            )
    signer = _imported("aws_msk_iam_sasl_signer.MSKAuthTokenProvider")
    quiet_logs(*LOGGERS)
    region = region_of_hosts(servers) or _region_here(options)
    return TokenLogin(SignedRequest(signer, {**options}, region))


def region_of_hosts(servers: Sequence[str]) -> str | None:
    """The region in the names of MSK's brokers; None for other names.

    Raises `InvalidConfig` for two regions.

    >>> region_of_hosts(["b-1.audit.abc123.c2.kafka.eu-west-1.amazonaws.com:9098"])
    'eu-west-1'
    """
    names = [server.rpartition(":")[0].lower().rstrip(".") for server in servers]
    found = [match[1] for name in names if (match := _HOST.search(name))]
    if len({*found}) > 1:
        raise InvalidConfig(
            f"invalid bootstrap server: expected brokers of one region, got {', '.join(found)}",
            wanted="one region",
            had=", ".join(found),
            hint="name brokers of one cluster",
        )
    return found[0] if found else None


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """What signs a token: AWS's signer, the options of the JAAS line, the region."""

    signer: Any
    options: Mapping[str, str] = field(repr=False)
    """A secret key may be among them."""
    region: str
    clock_s: Callable[[], float] = wall_clock_s

    reuses_tokens = True

    def fetch(self) -> Token:
        """A new token, signed with the credentials of this moment.

        Raises `AuthenticationFailed` without credentials, and `Unreachable` if AWS does not answer.
        """
        credentials = _imported("botocore.credentials")

        class OfOptions(credentials.CredentialProvider):  # type: ignore[misc, name-defined]
            """What the signer takes: credentials by the options of the JAAS line."""

            def load(self_) -> Any:  # noqa: N805, ANN401 (`self` is the request)
                return self._credentials()

        try:
            text, ends_ms = self.signer.generate_auth_token_from_credentials_provider(
                self.region, OfOptions()
            )
        except RackwiseError:
            raise
        except Exception as error:  # noqa: BLE001 (of AWS's packages; its text may be a secret)
            raise _failure(error, self.options) from None
        now_s = self.clock_s()
        lives_s = ends_ms / 1000 - now_s
        return read_token(text, now_s=now_s, origin="AWS's signer", lives_s=lives_s)

    def _credentials(self) -> Any:  # noqa: ANN401 (botocore has no types)
        """Frozen credentials; a new session sees profiles and token files that were replaced."""
        session_module = _imported("botocore.session")
        quiet_logs(*LOGGERS)
        session = session_module.Session(profile=self.options.get("awsProfileName") or None)
        if "awsRoleArn" in self.options:
            return self._of_role(session)
        found = session.get_credentials()
        if found is None:
            raise AuthenticationFailed(
                "no AWS credentials for the login with IAM: environment, profile, web identity and "
                "instance have none",
                wanted="AWS credentials",
                hint=_CREDENTIALS_HINT,
            )
        return found.get_frozen_credentials()

    def _of_role(self, session: Any) -> Any:  # noqa: ANN401 (botocore has no types)
        config, credentials = _imported("botocore.config"), _imported("botocore.credentials")
        key, secret, session_token = (self.options.get(name) or None for name in _ROLE_KEYS)
        sts = session.create_client(
            "sts",
            region_name=self.options.get("awsStsRegion") or self.region,
            aws_access_key_id=key,
            aws_secret_access_key=secret,
            aws_session_token=session_token,
            config=config.Config(
                connect_timeout=CONNECT_S, read_timeout=READ_S, retries={"total_max_attempts": 2}
            ),
        )
        asked = {
            "RoleArn": self.options["awsRoleArn"],
            "RoleSessionName": self.options.get("awsRoleSessionName") or SESSION,
            "ExternalId": self.options.get("awsRoleExternalId"),
        }
        answer = sts.assume_role(**{name: value for name, value in asked.items() if value})
        found = answer["Credentials"]
        return credentials.Credentials(
            found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"]
        )


def _region_here(options: Mapping[str, str]) -> str:
    session_module = _imported("botocore.session")
    session = session_module.Session(profile=options.get("awsProfileName") or None)
    try:
        found = os.environ.get("AWS_REGION") or session.get_config_variable("region")
    except Exception as error:  # noqa: BLE001 (of botocore; a profile that is missing)
        raise _failure(error, options) from None
    if not found:
        raise InvalidConfig(
            "the AWS region is not known: expected it in the name of the bootstrap server, in "
            "AWS_REGION or in the AWS profile, got none",
            wanted="a region",
            hint="export AWS_REGION=eu-west-1",
        )
    return str(found)


def _failure(error: Exception, options: Mapping[str, str]) -> RackwiseError:
    """Our error for an error of AWS's packages, by the name of its class: no text is repeated."""
    kind = type(error).__name__
    code = _code(error)
    if kind == "ProfileNotFound":
        profile = options.get("awsProfileName") or os.environ.get("AWS_PROFILE", "")
        return InvalidConfig(
            f"AWS profile {escaped(profile)} is not in the files of AWS",
            wanted="a profile",
            had=profile,
            hint="`aws configure list-profiles` lists them; AWS_CONFIG_FILE and "
            "AWS_SHARED_CREDENTIALS_FILE name other files",
        )
    if kind in {"NoCredentialsError", "PartialCredentialsError"}:
        return AuthenticationFailed(
            f"no AWS credentials for the login with IAM: {kind}",
            wanted="AWS credentials",
            had=kind,
            hint=_CREDENTIALS_HINT,
        )
    if kind.endswith(("ConnectionError", "TimeoutError", "HTTPClientError", "SSLError")):
        fault = tls_fault(error)
        reason = kind if fault is None else fault.text
        return Unreachable(
            f"AWS did not answer the request for credentials: {reason}",
            wanted="an answer",
            had=reason,
            hint=_TLS_HINTS.of(error, otherwise=_STS_HINT),
        )
    return AuthenticationFailed(
        f"AWS gave no credentials for the login with IAM: {code or kind}",
        wanted="AWS credentials",
        had=code or kind,
        hint=_CREDENTIALS_HINT,
    )


def _code(error: Exception) -> str:
    """The error code in an answer of AWS, such as AccessDenied."""
    answer = getattr(error, "response", None)
    found = answer.get("Error", {}).get("Code") if isinstance(answer, dict) else None
    return escaped(str(found)[:100]) if found else ""


def _imported(name: str) -> Any:  # noqa: ANN401 (packages without types)
    """A module of the extra. Raises `MissingDependency`."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise MissingDependency(
            "aws-msk-iam-sasl-signer-python is required to log in with IAM of Amazon MSK, but it "
            "is not installed",
            wanted="aws-msk-iam-sasl-signer-python",
            hint='pip install "rackwise[msk-iam]"',
        ) from None
