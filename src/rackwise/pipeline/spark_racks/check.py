"""Checks whether the executors of a Spark job read Kafka in their own racks.

Goals, in order: every rule is checked, or listed in `not_checked` with the reason; one wrong
setting gives one finding; each finding says what was expected, what was found, and what to do.

An executor reads in its own rack only if all of these conditions hold. Neither Spark nor Kafka
reports an error if one is missing:

```
options                        each executor's JVM              brokers
client.rack = ${env:V}         V = az1, in its environment      rack az1, RackAwareReplicaSelector,
a provider `env`, its class    providers not forbidden          a replica of each partition in az1
V on the allow-list            kafka-clients 3.5 or later
```

A finding suppresses the findings that it would cause:

```
rack-not-set        all other rules about options and about JVMs
rack-is-constant    provider-*, allowlist-blocks, variable-unset, providers-disabled
provider-missing    provider-wrong, allowlist-blocks
```

`core.fetch_diagnosis` checks the brokers; it takes the racks of the executors as client racks.

What this does not do: ask the JVMs (see `spark_racks.probe`) or the cluster.

Source: KIP-392, KIP-887; `ConfigTransformer` and `EnvVarConfigProvider` of kafka-clients.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.fetch_diagnosis import READING_RULES, ReadingFacts, diagnose_reading
from rackwise.core.fetch_diagnosis.view import FetchView
from rackwise.core.findings import Finding, FindingList, Rule, RuleTable, Severity, Unchecked
from rackwise.core.text import counted, escaped, names_text
from rackwise.pipeline.spark_racks.recipes import ENV_PROVIDER, PLACEHOLDER, PREFIX, PROVIDERS, RACK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rackwise.core.model import Cluster

OLDEST_CLIENTS = (3, 5)
"""The first version of kafka-clients with EnvVarConfigProvider."""
AUTOMATIC = "org.apache.kafka.automatic.config.providers"
"""The system property with the provider classes that a client may load."""

SPARK_RULES: RuleTable[Callable[..., Iterator[Finding]]] = RuleTable()
"""Rule name -> rule, in the order of the findings: causes before effects."""
OF_BROKERS = ("reading-broker-rack", "reading-selector", "reading-client-rack")
"""Rules of reading that apply to executors as to any client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jvm:
    """The answer of one JVM; a field is None if the JVM does not have the value."""

    host: str | None
    pid: str | None
    value: str | None
    """Value of the environment variable."""
    providers: str | None = None
    """Value of the system property that restricts providers."""
    clients: str | None = None
    """Version of kafka-clients."""

    @property
    def name(self) -> str:
        """`10.0.0.1 pid 123`."""
        return f"{self.host or 'unknown host'} pid {self.pid or 'unknown'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The answers of all JVMs of a session."""

    executors: Mapping[Jvm, int]
    """JVM -> number of partitions that it answered."""
    driver: Jvm | None
    """None if the driver could not be asked."""
    asked: int
    """Number of partitions of the question."""
    is_allowed: bool | None = True
    """Whether the allow-list of the options permits the variable; None if the allow-list is not a
    regular expression."""

    @property
    def racks(self) -> Counter[str]:
        """Value of the variable -> number of executors with it."""
        return Counter(each.value for each in self.executors if each.value)


def variable_of(options: Mapping[str, str], default: str) -> str:
    """The variable that the options name; if they name none, `default`.

    >>> variable_of({"kafka.client.rack": "${env:ZONE}"}, "CLIENT_RACK")
    'ZONE'
    """
    found = PLACEHOLDER.fullmatch(_kafka(options).get(RACK, ""))
    return found[3] if found else default


def allow_list(options: Mapping[str, str]) -> str | None:
    """The regular expression that must match the whole name of the variable; None if not set."""
    kafka = _kafka(options)
    found = PLACEHOLDER.fullmatch(kafka.get(RACK, ""))
    name = f"{PROVIDERS}.{found[1]}.param.allowlist.pattern" if found else ""
    return kafka.get(name)


def diagnose_spark(
    options: Mapping[str, str],
    variable: str,
    answers: Answers,
    cluster: Cluster | None = None,
) -> FindingList:
    """All findings about a job whose Kafka reader has these options.

    `variable`: the variable that the JVMs were asked for; `cluster`: brokers, their configs and the
    topics read.
    """
    job = _Job(_kafka(options), variable, answers)
    found: list[Finding | Unchecked] = list(job.findings())
    not_checked = dict(job.not_checked)
    if cluster is None:
        why = "no cluster is given; --bootstrap-server or --snapshot names one"
        not_checked |= dict.fromkeys(("rf-below-racks", *OF_BROKERS), why)
    else:
        racks = job.client_racks()
        facts = ReadingFacts(cluster=cluster, client_racks=tuple(racks))
        reading = diagnose_reading(facts)
        found += [each for each in reading if each.rule in OF_BROKERS]
        not_checked |= {k: why for k, why in reading.not_checked.items() if k in OF_BROKERS}
        found += _uncovered(FetchView(facts), racks)
        if not racks:
            not_checked["rf-below-racks"] = "no executor has a rack"
    found += [Unchecked(rule, why) for rule, why in not_checked.items()]
    return FindingList(RULES, found)


def _kafka(options: Mapping[str, str]) -> dict[str, str]:
    """Options for Kafka's client, without prefix; Spark ignores the case of the prefix."""
    return {
        key[len(PREFIX) :]: value
        for key, value in options.items()
        if key.lower().startswith(PREFIX)
    }


class _Job:
    """Checks one job, rule by rule; fills `not_checked` on the way."""

    def __init__(self, kafka: Mapping[str, str], variable: str, answers: Answers) -> None:
        self.kafka = kafka
        self.variable = variable
        self.answers = answers
        self.rack = kafka.get(RACK, "")
        self.placeholder = PLACEHOLDER.fullmatch(self.rack)
        self.not_checked: dict[str, str] = {}

    def client_racks(self) -> list[str]:
        """The racks that executors send to brokers, sorted."""
        if not self.rack:
            return []
        return sorted(self.answers.racks) if self.placeholder else [self.rack]

    def findings(self) -> Iterator[Finding]:
        """Findings about options, then findings about JVMs."""
        if not self.rack:
            self._skip("no rack is set", but=("rack-not-set", "rf-below-racks"))
            yield from self._not_set()
        elif self.placeholder is None:
            others = ("rack-not-set", "rack-is-constant", "clients-too-old", "rf-below-racks")
            self._skip("the rack is a plain text", but=others)
            yield from self._constant()
        else:
            yield from self._provider_missing(self.placeholder)
            yield from self._provider_wrong(self.placeholder)
            yield from self._blocked(self.placeholder)
            yield from self._jvms()

    def _skip(self, why: str, *, but: Sequence[str]) -> None:
        self.not_checked |= {name: why for name in SPARK_RULES if name not in but}

    @SPARK_RULES.rule("rack-not-set", Severity.ERROR, "no kafka.client.rack is among the options")
    def _not_set(self) -> Iterator[Finding]:
        yield SPARK_RULES.finding(
            "rack-not-set",
            where="options",
            wanted=f"{PREFIX}{RACK}",
            had="none, so that every executor reads from the leader",
            hint=f"add the four options of the recipe, with ${{env:{self.variable}}}",
        )

    @SPARK_RULES.rule(
        "rack-is-constant", Severity.ERROR, "one rack is given to executors of several racks"
    )
    def _constant(self) -> Iterator[Finding]:
        racks = self.answers.racks
        if len(racks) > 1:
            names = names_text(sorted(racks))
            yield SPARK_RULES.finding(
                "rack-is-constant",
                where=f"option {PREFIX}{RACK}",
                wanted=f"${{env:{self.variable}}}",
                had=escaped(f"{self.rack} for executors in {names}"),
                hint="use the four options of the recipe: one text is the same for all executors",
            )
        elif not racks:
            self.not_checked["rack-is-constant"] = f"no executor has {self.variable}"

    @SPARK_RULES.rule(
        "provider-missing",
        Severity.ERROR,
        "no provider is declared for the placeholder in the rack",
    )
    def _provider_missing(self, placeholder: re.Match[str]) -> Iterator[Finding]:
        name = placeholder[1]
        class_option, declared = _class_option(name), self._declared()
        if name not in declared:
            yield SPARK_RULES.finding(
                "provider-missing",
                where=f"option {PREFIX}{PROVIDERS}",
                wanted=name,
                had=escaped(", ".join(filter(None, declared)) or "none"),
                hint=f"set {PREFIX}{PROVIDERS}={name} and {PREFIX}{class_option}={ENV_PROVIDER}",
            )
        elif class_option not in self.kafka:
            yield SPARK_RULES.finding(
                "provider-missing",
                where=f"option {PREFIX}{class_option}",
                wanted=ENV_PROVIDER,
                had="none",
                hint=f"set {PREFIX}{class_option}={ENV_PROVIDER}",
            )

    @SPARK_RULES.rule(
        "provider-wrong", Severity.ERROR, "the provider does not read environment variables"
    )
    def _provider_wrong(self, placeholder: re.Match[str]) -> Iterator[Finding]:
        name, path = placeholder[1], placeholder[2]
        class_option = _class_option(name)
        if not self._has_provider(name):
            return
        if self.kafka[class_option] != ENV_PROVIDER:
            yield SPARK_RULES.finding(
                "provider-wrong",
                where=f"option {PREFIX}{class_option}",
                wanted=ENV_PROVIDER,
                had=escaped(self.kafka[class_option]),
                hint=f"set {PREFIX}{class_option}={ENV_PROVIDER}: files and vaults are at best "
                "the same for all executors of a host",
            )
        elif path:
            yield SPARK_RULES.finding(
                "provider-wrong",
                where=f"option {PREFIX}{RACK}",
                wanted=f"${{{name}:{self.variable}}}",
                had=escaped(self.rack),
                hint="remove the path: the environment has none, and the client does not start "
                "with one",
            )

    @SPARK_RULES.rule("allowlist-blocks", Severity.ERROR, "the provider may not read the variable")
    def _blocked(self, placeholder: re.Match[str]) -> Iterator[Finding]:
        name, path = placeholder[1], placeholder[2]
        is_right = self._has_provider(name) and self.kafka[_class_option(name)] == ENV_PROVIDER
        if not is_right or path or self.answers.is_allowed:
            return
        option = f"{PROVIDERS}.{name}.param.allowlist.pattern"
        is_pattern = self.answers.is_allowed is not None
        had = f"{self.kafka.get(option, '')}{'' if is_pattern else ', which is invalid'}"
        yield SPARK_RULES.finding(
            "allowlist-blocks",
            where=f"option {PREFIX}{option}",
            wanted=f"a regular expression that {self.variable} matches whole",
            had=escaped(had),
            hint=f"set {PREFIX}{option}={self.variable}",
        )

    def _declared(self) -> list[str]:
        """Names of the declared providers."""
        return [each.strip() for each in self.kafka.get(PROVIDERS, "").split(",")]

    def _has_provider(self, name: str) -> bool:
        """Whether a provider is declared with a class."""
        return name in self._declared() and _class_option(name) in self.kafka

    def _jvms(self) -> Iterator[Finding]:
        executors = sorted(self.answers.executors, key=lambda each: each.name)
        driver = self.answers.driver
        others = [] if driver is None or driver in self.answers.executors else [driver]
        yield from self._clients_too_old([*executors, *others])
        yield from self._providers_disabled([*executors, *others])
        yield from self._variable_unset(executors, others)
        if driver is None:
            self.not_checked["variable-unset"] = "the driver could not be asked"

    @SPARK_RULES.rule(
        "clients-too-old", Severity.ERROR, "kafka-clients cannot read environment variables"
    )
    def _clients_too_old(self, jvms: Iterable[Jvm]) -> Iterator[Finding]:
        versions = {each.clients for each in jvms}
        if None in versions:
            self.not_checked["clients-too-old"] = (
                "kafka-clients is missing; start the session with the connector that the job uses"
            )
        for version in sorted(each for each in versions if each is not None):
            if _numbers(version) < OLDEST_CLIENTS:
                yield SPARK_RULES.finding(
                    "clients-too-old",
                    where="kafka-clients",
                    wanted="3.5 or later",
                    had=escaped(version),
                    hint="use a newer connector: spark-sql-kafka-0-10 of Spark 3.5 or later",
                )

    @SPARK_RULES.rule(
        "providers-disabled",
        Severity.ERROR,
        "a JVM forbids the provider: the client will not start",
    )
    def _providers_disabled(self, jvms: Iterable[Jvm]) -> Iterator[Finding]:
        for value in sorted({each.providers for each in jvms if each.providers is not None}):
            if ENV_PROVIDER not in {each.strip() for each in value.split(",")}:
                those = sorted(each.name for each in jvms if each.providers == value)
                yield SPARK_RULES.finding(
                    "providers-disabled",
                    where=f"system property {AUTOMATIC}",
                    wanted=ENV_PROVIDER,
                    had=escaped(f"{escaped(value) or 'empty'} on {names_text(those)}"),
                    hint=f"set -D{AUTOMATIC}={ENV_PROVIDER} in spark.executor.extraJavaOptions and "
                    "spark.driver.extraJavaOptions; the client does not start without it",
                )

    @SPARK_RULES.rule(
        "variable-unset", Severity.WARNING, "a JVM that reads Kafka does not have the variable"
    )
    def _variable_unset(
        self, executors: Sequence[Jvm], drivers: Sequence[Jvm]
    ) -> Iterator[Finding]:
        """`drivers`: the driver, unless it is also an executor."""
        unset = [each.name for each in executors if not each.value]
        if unset:
            yield SPARK_RULES.finding(
                "variable-unset",
                where=f"{len(unset)} of {counted(len(executors), 'executor')}",
                wanted=f"{self.variable} in the environment",
                had=escaped(f"none on {names_text(unset)}"),
                hint="set it where the executor is started (spark.executorEnv is one value for "
                "all); until then the executor reads from the leader",
            )
        for driver in drivers:
            if not driver.value:
                yield SPARK_RULES.finding(
                    "variable-unset",
                    severity=Severity.INFO,
                    where="driver",
                    wanted=f"{self.variable} in the environment",
                    had=escaped(f"none on {driver.name}"),
                    hint="set it before the driver starts; the driver only asks for offsets",
                )


def _class_option(provider: str) -> str:
    return f"{PROVIDERS}.{provider}.class"


@SPARK_RULES.rule(
    "rf-below-racks", Severity.INFO, "some partitions have no replica in a rack of executors"
)
def _uncovered(view: FetchView, racks: Iterable[str]) -> Iterator[Finding]:
    """Racks with executors and brokers in which some partition has no replica."""
    whole = len(view.cluster.partitions)
    for rack in racks:
        near = int(view.covers(rack).sum())
        if rack in view.rack_names and near < whole:
            yield SPARK_RULES.finding(
                "rf-below-racks",
                where=f"rack {rack}",
                wanted=f"a replica of each of {counted(whole, 'partition')}",
                had=f"of {near}",
                hint="add replicas: executors in this rack read the other partitions across racks, "
                "as Spark sends no task to a rack",
            )


def _numbers(version: str) -> tuple[int, ...]:
    """`3.9.2` -> (3, 9): the numbers before the second point."""
    return tuple(int(each) for each in re.findall(r"[0-9]+", version)[:2])


RULES: Mapping[str, Rule] = {**SPARK_RULES, **{name: READING_RULES[name] for name in OF_BROKERS}}
"""Every rule that `diagnose_spark` checks, in the order of the findings."""
