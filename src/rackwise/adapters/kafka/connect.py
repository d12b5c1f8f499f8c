"""The connection to a cluster: kafka-python's admin client, opened in bounded time, logs quiet.

Requests go to chosen brokers in parallel, so that a broker that does not answer costs only its own
answer. Code that uses private parts of kafka-python is here and in `connections`.
"""

from __future__ import annotations

import logging
import threading
import time
import warnings
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import kafka.errors as kafka_errors
from kafka.admin import KafkaAdminClient

from rackwise.adapters.clock import monotonic_ms
from rackwise.adapters.kafka.connections import (
    LOGIN_ERRORS,
    NEW_KEY_S,
    FailedTls,
    RejectedCertificate,
    UntrustedCertificate,
    net_client,
)
from rackwise.adapters.kafka.logins.quiet_logs import quiet_logs
from rackwise.adapters.kafka.logins.token_login import (
    TOKENS,
    TokenDelayed,
    TokenDenied,
    check_tokens,
)
from rackwise.adapters.kafka.permissions import missing_permission
from rackwise.adapters.kafka.security import security_arguments
from rackwise.core.errors import (
    AuthenticationFailed,
    InvalidConfig,
    RackwiseError,
    ServerRefused,
    SettingsWarning,
    Unreachable,
)
from rackwise.core.host_port import host_and_port
from rackwise.core.override import override
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    from rackwise.core.secret import Secret

Answer = TypeVar("Answer")
Admin = TypeVar("Admin", bound=KafkaAdminClient)
Message: TypeAlias = Any
"""A request or response of `kafka.protocol`; its classes are generated at import."""

CONNECT_S = 15.0
"""Default time after which a cluster without an answer is unreachable."""
TIMEOUT_SETTING = "default.api.timeout.ms"
"""The client setting that changes `CONNECT_S`."""
SERVERS_SETTING = "bootstrap.servers"
ANSWER_S = 30.0
"""Time for which one broker may work on a request, and for which a failed request is repeated."""
RETRY_S = 0.2
NEW_KEY_TRIES = 3
IN_FLIGHT = 4
"""Requests that one broker has at a time; kafka-python rejects more than five."""
MAX_DIGITS = 10

_NO_ANSWER = (
    "check the host, the port, and security.protocol in the client settings: a TLS listener closes "
    "the connection of a plaintext client, and a plaintext listener that of a TLS client. Name "
    "several brokers, separated by commas, to continue while one of them restarts"
)
_NOT_TRUSTED = (
    "check the names and dates of the broker's certificate, and the certificate authorities in "
    "ssl.truststore.location of the client settings"
)
_REJECTED = (
    "set ssl.keystore.location to a store whose certificate the broker trusts, and check the dates "
    "of that certificate"
)
_TRANSIENT = (
    kafka_errors.RetriableError,
    kafka_errors.UnknownBrokerIdError,
    kafka_errors.BrokerNotAvailableError,
)


def connect(
    bootstrap: str,
    client_config: Mapping[str, str | Secret] | None = None,
    *,
    timeout_s: float | None = None,
) -> KafkaAdminClient:
    """An admin client of the cluster behind `bootstrap`, `HOST:PORT[,HOST:PORT...]`; close it.

    `client_config`: settings under Kafka's names, as `read_client_config` returns them. Raises
    `InvalidConfig`, at once `AuthenticationFailed` where one side does not trust the other, or
    `Unreachable` after `timeout_s`; by default that is the setting `default.api.timeout.ms`, else
    `CONNECT_S`. Warns with `SettingsWarning` if the settings name other brokers. A login by
    a token asks for the first token here, and raises what its source does.
    """
    _warn_of_others(bootstrap, str((client_config or {}).get(SERVERS_SETTING, "")))
    return connect_as(KafkaAdminClient, bootstrap, client_config, timeout_s=timeout_s)


def connect_as(
    open_client: Callable[..., Admin],
    bootstrap: str,
    client_config: Mapping[str, str | Secret] | None = None,
    *,
    timeout_s: float | None = None,
) -> Admin:
    """As `connect`, with a client that `open_client` creates."""
    servers = bootstrap_servers(bootstrap)
    settings = client_config or {}
    arguments = security_arguments(settings, servers)
    timeout_ms = _timeout_ms_of(settings) if timeout_s is None else int(timeout_s * 1000)
    quiet_logs("kafka")
    check_tokens(arguments)
    made: list[Message] = []

    def client(**config: Message) -> Message:
        made.append(net_client(**config))
        return made[-1]

    with _ConnectErrors(made) as heard:
        try:
            admin = open_client(
                bootstrap_servers=servers,
                client_id="rackwise",
                request_timeout_ms=int(ANSWER_S * 1000),
                bootstrap_timeout_ms=timeout_ms,
                kafka_client=client,
                **arguments,
            )
        except (kafka_errors.KafkaError, OSError) as error:
            raise _connect_error(bootstrap, [*heard.errors, error]) from None
        else:
            return admin
        finally:
            if not _is_bootstrapped(made):
                _close_all(made)


def bootstrap_servers(text: str) -> list[str]:
    """`["a:9092", "b:9092"]` from `a:9092,b:9092`. Raises `InvalidConfig`."""
    servers = [server.strip() for server in text.split(",")]
    for server in servers:
        if host_and_port(server) is None:
            raise InvalidConfig(
                f"invalid bootstrap server: expected HOST:PORT, got {escaped(server) or 'nothing'}",
                wanted="HOST:PORT",
                had=server,
                hint="for example --bootstrap-server kafka-1.internal:9092",
            )
    return servers


def _warn_of_others(bootstrap: str, configured: str) -> None:
    """Warn if `bootstrap.servers` of the settings has no broker of `bootstrap`."""
    asked, others = ({each.strip() for each in text.split(",")} for text in (bootstrap, configured))
    if configured.strip() and asked.isdisjoint(others):
        warnings.warn(
            f"{SERVERS_SETTING} of the client settings names {escaped(configured)}, "
            f"--bootstrap-server {escaped(bootstrap)}: --bootstrap-server is used; check that both "
            "are the same cluster",
            SettingsWarning,
            stacklevel=3,
        )


def _timeout_ms_of(settings: Mapping[str, str | Secret]) -> int:
    text = str(settings.get(TIMEOUT_SETTING, int(CONNECT_S * 1000))).strip()
    if not 0 < _number(text) < 1 << 31:
        raise InvalidConfig(
            f"invalid {TIMEOUT_SETTING}: expected 1 or more milliseconds, got {escaped(text)}",
            wanted="1 or more",
            had=text,
            hint=f"for example {TIMEOUT_SETTING}=60000",
            where=TIMEOUT_SETTING,
        )
    return int(text)


def _number(text: str) -> int:
    """The number in a text of up to ten digits, or 0."""
    is_number = text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
    return int(text) if is_number else 0


def ask(admin: KafkaAdminClient, call: Callable[[], Answer], *, doing: str) -> Answer:
    """The result of `call`, repeated while brokers come and go, for at most `ANSWER_S`.

    `doing` completes "the cluster rejected the request to ...". Raises `Unreachable`,
    `MissingPermission`, `AuthenticationFailed` or `ServerRefused`.
    """
    deadline = time.monotonic() + ANSWER_S
    rejected: float | None = None
    while True:
        try:
            return call()
        except LOGIN_ERRORS as error:
            rejected = rejected or time.monotonic()
            if time.monotonic() - rejected >= NEW_KEY_S or not _drops_token(admin, error):
                raise to_rackwise_error(error, doing=doing) from None
            time.sleep(NEW_KEY_S / NEW_KEY_TRIES)
        except _TRANSIENT as error:
            if time.monotonic() >= deadline:
                raise to_rackwise_error(error, doing=doing) from None
            admin._controller_id = None  # noqa: SLF001 (it may be the one that is gone)
            time.sleep(RETRY_S)
        except kafka_errors.KafkaError as error:
            raise to_rackwise_error(error, doing=doing) from None


def _drops_token(admin: KafkaAdminClient, error: kafka_errors.KafkaError) -> bool:
    """Whether a broker rejected a token, so that the next login has a new one."""
    manager: Message = admin._manager  # noqa: SLF001 (no public door)
    tokens = manager.config[TOKENS]
    if tokens is None or isinstance(error, TokenDenied):
        return False
    tokens.forget()
    return True


def send(admin: KafkaAdminClient, request: Message) -> Message:
    """The answer of any broker to a request. Raises kafka-python's errors."""
    manager: Message = admin._manager  # noqa: SLF001 (no public door)
    return manager.run(manager.send, request)


def send_to_each(admin: KafkaAdminClient, requests: Mapping[int, Message]) -> dict[int, Message]:
    """Broker -> its answer, or the `KafkaError` instead; all requests run in parallel."""
    one_each = {broker: (request,) for broker, request in requests.items()}
    return {broker: of[0].message for broker, of in send_in_turn(admin, one_each).items()}


@dataclass(frozen=True, slots=True)
class TimedAnswer:
    """The answer of one broker to one request, and when it arrived."""

    message: Message
    """The answer, or the `KafkaError` instead."""
    at_ms: int


def send_in_turn(
    admin: KafkaAdminClient,
    requests: Mapping[int, Sequence[Message]],
    *,
    clock_ms: Callable[[], int] = monotonic_ms,
) -> dict[int, list[TimedAnswer]]:
    """Broker -> its answers in the order of its requests; all brokers work in parallel.

    A broker answers its requests one after the other. Once it cannot be reached, its other requests
    are not sent: they get the same error.
    """
    manager: Message = admin._manager  # noqa: SLF001 (the public methods stop at the first failure)

    def sent(broker: int, request: Message) -> tuple[Message, list[int]]:
        """The future answer, and a list that gets the time of its arrival."""
        arrived: list[int] = []
        future = manager.send(request, node_id=broker)
        future.add_both(lambda _: arrived.append(clock_ms()))
        return future, arrived

    async def ask_one(broker: int) -> list[TimedAnswer]:
        left, waiting = deque(requests[broker]), deque[tuple[Message, list[int]]]()
        answers: list[TimedAnswer] = []
        while left or waiting:
            try:
                while left and len(waiting) < IN_FLIGHT:
                    waiting.append(sent(broker, left.popleft()))
                future, arrived = waiting.popleft()
                answers.append(TimedAnswer(await future, arrived[0]))
            except kafka_errors.KafkaError as error:
                failed = TimedAnswer(error, clock_ms())
                if not isinstance(error, kafka_errors.UnsupportedVersionError):
                    return answers + [failed] * (len(requests[broker]) - len(answers))
                answers.append(failed)
        return answers

    async def gather() -> dict[int, list[TimedAnswer]]:
        if any(manager.cluster.broker_metadata(broker) is None for broker in requests):
            await manager.cluster.refresh_metadata()
        asked = {broker: manager.call_soon(ask_one, broker) for broker in requests}
        return {broker: await answers for broker, answers in asked.items()}

    answers: dict[int, list[TimedAnswer]] = manager.run(gather)
    return answers


def is_transient(error: Exception | int) -> bool:
    """Whether the same request may succeed a moment later; `error`: an error, or Kafka's code."""
    of_code: Message = kafka_errors.for_code
    kind = of_code(error) if isinstance(error, int) else type(error)
    return issubclass(kind, _TRANSIENT)


def to_rackwise_error(error: Exception, *, doing: str) -> RackwiseError:
    """The error of our tree for an error of kafka-python."""
    name = type(error).__name__
    if isinstance(error, TokenDenied | TokenDelayed):
        return error.error
    if isinstance(error, kafka_errors.AuthorizationError):
        return missing_permission(name, doing=doing)
    if isinstance(error, LOGIN_ERRORS):
        return AuthenticationFailed(
            f"the cluster rejected the login: {escaped(str(error))}",
            had=name,
            hint="check sasl.mechanism, and the user name and the password in the client settings; "
            "for a token its issuer, audience and scope",
        )
    if isinstance(error, _TRANSIENT):
        return Unreachable(
            f"the cluster did not answer the request to {doing} within {ANSWER_S:.0f} s: "
            f"{escaped(str(error))}",
            wanted=f"an answer within {ANSWER_S:.0f} s",
            had=name,
            hint="check that the brokers run and that their advertised addresses can be reached",
        )
    return ServerRefused(
        f"the cluster rejected the request to {doing}: {escaped(str(error))}",
        had=name,
        hint="read the brokers' logs; Rackwise needs Kafka 2.4 or later",
    )


def reason(error: Exception | int) -> str:
    """The name of an error, or of a Kafka error code, without its suffix; for notes.

    >>> reason(29)
    'TopicAuthorizationFailed'
    """
    of_code: Message = kafka_errors.for_code
    kind = of_code(error) if isinstance(error, int) else type(error)
    return str(kind.__name__.removesuffix("Error"))


def _connect_error(bootstrap: str, errors: list[Exception]) -> RackwiseError:
    causes = [each for each in errors if not isinstance(each, kafka_errors.KafkaTimeoutError)]
    # The time limit cuts the last attempt: what an earlier one met is the cause.
    met = [each for each in causes if not _is_cut(each)]
    last = (met or causes or errors)[-1]
    if isinstance(last, (*LOGIN_ERRORS, TokenDelayed, kafka_errors.AuthorizationError)):
        return to_rackwise_error(last, doing="let us in")
    if isinstance(last, UntrustedCertificate):
        return AuthenticationFailed(
            f"the broker's certificate at {escaped(bootstrap)} is not trusted: "
            f"{escaped(last.reason)}",
            wanted="a trusted certificate",
            had=last.reason,
            hint=_NOT_TRUSTED,
        )
    if isinstance(last, RejectedCertificate):
        return AuthenticationFailed(
            f"the broker at {escaped(bootstrap)} rejected the certificate of this client: "
            f"{escaped(last.reason)}",
            wanted="a certificate that the broker trusts",
            had=last.reason,
            hint=_REJECTED,
        )
    tls = last if isinstance(last, FailedTls) else None
    return Unreachable(
        f"no broker answers at {escaped(bootstrap)}: {escaped(tls.reason if tls else str(last))}",
        wanted="an answer",
        had=type(last).__name__,
        hint=tls.hint if tls else _NO_ANSWER,
    )


def _is_cut(error: Exception) -> bool:
    """Whether an attempt to connect ended because its time did."""
    return type(error) is kafka_errors.KafkaConnectionError and "timed out" in str(error)


def _is_bootstrapped(made: list[Message]) -> bool:
    return bool(made) and made[-1]._manager.bootstrapped  # noqa: SLF001 (no public door)


def _close_all(made: list[Message]) -> None:
    """End the input/output thread of a client whose constructor failed."""
    for client in made:
        client.close()
        client._manager._net.stop()  # noqa: SLF001 (what KafkaAdminClient.close does)


class _ConnectErrors(logging.Handler):
    """Collects the errors that kafka-python only logs while one of our clients connects.

    `made`: our clients, also those that are created later. Other threads may connect to other
    clusters at the same time; their errors are not ours.
    """

    def __init__(self, made: list[Message]) -> None:
        super().__init__(logging.WARNING)
        self.errors: list[Exception] = []
        self._made = made
        self._caller = threading.get_ident()

    def __enter__(self) -> Self:
        logging.getLogger("kafka.net.manager").addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("kafka.net.manager").removeHandler(self)

    @override
    def emit(self, record: logging.LogRecord) -> None:
        threads = [each._manager._net._io_thread for each in self._made]  # noqa: SLF001 (no door)
        ours = {self._caller, *(each.ident for each in threads if each is not None)}
        if record.thread not in ours:
            return
        arguments = record.args if isinstance(record.args, tuple) else ()
        self.errors += [each for each in arguments if isinstance(each, Exception)]
