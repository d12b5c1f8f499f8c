"""Name what keeps the executors of a Spark job from reading Kafka in their own racks.

Goals, in order: every rule is judged or named in `not_checked` with the reason; one wrong setting
is one finding; wanted and had are told, and what to do.

All of this is wanted at once, and neither Spark nor Kafka says anything where one is missing:

```
options                        each executor's JVM              brokers
client.rack = ${env:V}         V = az1, in its environment      rack az1, RackAwareReplicaSelector,
a provider `env`, its class    providers not forbidden          a replica of each partition in az1
V on the allow-list            kafka-clients 3.5 or later
```

What follows from what. A finding keeps silent those that it would cause:

```
rack-not-set        all other rules about options and about JVMs
rack-is-constant    provider-*, allowlist-blocks, variable-unset, providers-disabled
provider-missing    provider-wrong, allowlist-blocks
```

What is said of brokers is `core.reading`'s to judge, with the racks of the executors for those of
clients.

What this does not do: ask the JVMs (see `spark_probe`), or the cluster.

Source: KIP-392, KIP-887; `ConfigTransformer` and `EnvVarConfigProvider` of kafka-clients.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rackwise.core.fetch_diagnosis import READING_RULES, ReadingFacts, diagnose_reading
from rackwise.core.fetch_diagnosis.findings import names_text
from rackwise.core.fetch_diagnosis.view import View
from rackwise.core.findings import Finding, Rule, Severity
from rackwise.core.override import override
from rackwise.core.text import counted, escaped
from rackwise.pipeline.spark_racks.recipes import ENV_PROVIDER, PLACEHOLDER, PREFIX, PROVIDERS, RACK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rackwise.core.fetch_diagnosis import ReadingFinding
    from rackwise.core.model import Cluster

OLDEST_CLIENTS = (3, 5)
"""The first kafka-clients with EnvVarConfigProvider."""
AUTOMATIC = "org.apache.kafka.automatic.config.providers"
"""The system property that says which provider classes a client may load."""

_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO
SPARK_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        row[0]: Rule(*row)
        for row in (
            ("rack-not-set", _E, "no kafka.client.rack is among the options"),
            ("rack-is-constant", _E, "one rack is given to executors of several racks"),
            ("provider-missing", _E, "no provider is declared for the placeholder in the rack"),
            ("provider-wrong", _E, "the provider does not read environment variables"),
            ("allowlist-blocks", _E, "the provider may not read the variable"),
            ("clients-too-old", _E, "kafka-clients cannot read environment variables"),
            ("providers-disabled", _E, "a JVM forbids the provider: the client will not start"),
            ("variable-unset", _W, "a JVM that reads Kafka does not have the variable"),
            ("rf-below-racks", _I, "some partitions have no replica in a rack of executors"),
        )
    }
)
"""Rule name -> rule, in the order in which findings are listed: causes before effects."""
OF_BROKERS = ("reading-broker-rack", "reading-selector", "reading-client-rack")
"""Rules of reading that hold for executors as for any client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jvm:
    """What one JVM answered; None for what it does not have.

    `value`: of the variable; `providers`: of the system property that restricts them; `clients`:
    the version of kafka-clients.
    """

    host: str | None
    pid: str | None
    value: str | None
    providers: str | None = None
    clients: str | None = None

    @property
    def name(self) -> str:
        """`10.0.0.1 pid 123`."""
        return f"{self.host or 'unknown host'} pid {self.pid or 'unknown'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What the JVMs of a session said.

    `executors`: JVM -> number of the `asked` partitions that it answered; `driver`: None where it
    could not be asked; `is_allowed`: whether the allow-list of the options lets the variable pass,
    None where it is no regular expression.
    """

    executors: Mapping[Jvm, int]
    driver: Jvm | None
    asked: int
    is_allowed: bool | None = True

    @property
    def racks(self) -> Counter[str]:
        """Value of the variable -> executors that have it."""
        return Counter(each.value for each in self.executors if each.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkFinding(Finding):
    """A finding about a Spark job; `where` is an option, JVMs or a topic, `hint` what to do."""

    where: str
    hint: str

    @property
    @override
    def place(self) -> str:
        """`option kafka.client.rack`, `driver` or `2 executors`."""
        return escaped(self.where)

    @override
    def as_dict(self) -> dict[str, Any]:
        """The fields and the message, for one JSON object."""
        return Finding.as_dict(self) | {"where": self.where, "hint": self.hint}


@dataclass(frozen=True, slots=True)
class SparkFindings:
    """All findings, causes first; `not_checked`: rule -> why it was not judged."""

    rows: tuple[SparkFinding | ReadingFinding, ...]
    not_checked: Mapping[str, str]

    @property
    def counts(self) -> Mapping[str, int]:
        """Rule -> number of its findings, in the order of the list."""
        return Counter(each.rule for each in self.rows)


def variable_of(options: Mapping[str, str], default: str) -> str:
    """The variable that the options name, else `default`.

    >>> variable_of({"kafka.client.rack": "${env:ZONE}"}, "CLIENT_RACK")
    'ZONE'
    """
    found = PLACEHOLDER.fullmatch(_kafka(options).get(RACK, ""))
    return found[3] if found else default


def allow_list(options: Mapping[str, str]) -> str | None:
    """The regular expression that the variable must match whole; None where there is none."""
    kafka = _kafka(options)
    found = PLACEHOLDER.fullmatch(kafka.get(RACK, ""))
    name = f"{PROVIDERS}.{found[1]}.param.allowlist.pattern" if found else ""
    return kafka.get(name)


def diagnose_spark(
    options: Mapping[str, str],
    variable: str,
    answers: Answers,
    cluster: Cluster | None = None,
) -> SparkFindings:
    """All findings about a job with these options of its Kafka reader.

    `variable`: the one that was asked for; `cluster`: brokers, their configs and the topics read.
    """
    judged = _Judged(_kafka(options), variable, answers)
    found = list(judged.findings())
    not_checked = dict(judged.not_checked)
    others: list[ReadingFinding] = []
    if cluster is None:
        why = "no cluster is given; --bootstrap-server or --snapshot names one"
        not_checked |= dict.fromkeys(("rf-below-racks", *OF_BROKERS), why)
    else:
        racks = judged.racks_told()
        facts = ReadingFacts(cluster=cluster, client_racks=tuple(racks))
        reading = diagnose_reading(facts)
        others = [each for each in reading if each.rule in OF_BROKERS]
        not_checked |= {k: why for k, why in reading.not_checked.items() if k in OF_BROKERS}
        found += _uncovered(View(facts), racks)
        if not racks:
            not_checked["rf-below-racks"] = "no executor tells a rack"
    order = {name: place for place, name in enumerate(SPARK_RULES)}
    found.sort(key=lambda each: order[each.rule])
    return SparkFindings(rows=(*found, *others), not_checked=MappingProxyType(not_checked))


RULES: Mapping[str, Rule] = MappingProxyType(
    {**SPARK_RULES, **{name: READING_RULES[name] for name in OF_BROKERS}}
)
"""Every rule that `diagnose_spark` judges."""


def _kafka(options: Mapping[str, str]) -> dict[str, str]:
    """Options for Kafka's client, without prefix; Spark takes the prefix in any case."""
    return {
        key[len(PREFIX) :]: value
        for key, value in options.items()
        if key.lower().startswith(PREFIX)
    }


class _Judged:
    """One job, rule by rule; `not_checked` fills as the rules are judged."""

    def __init__(self, kafka: Mapping[str, str], variable: str, answers: Answers) -> None:
        self.kafka = kafka
        self.variable = variable
        self.answers = answers
        self.rack = kafka.get(RACK, "")
        self.placeholder = PLACEHOLDER.fullmatch(self.rack)
        self.not_checked: dict[str, str] = {}

    def racks_told(self) -> list[str]:
        """The racks that brokers will hear, sorted."""
        if not self.rack:
            return []
        return sorted(self.answers.racks) if self.placeholder else [self.rack]

    def findings(self) -> Iterator[SparkFinding]:
        """The rules about options, then those about JVMs."""
        if not self.rack:
            self._skip("no rack is set", but=("rack-not-set", "rf-below-racks"))
            yield _finding(
                "rack-not-set",
                where="options",
                wanted=f"{PREFIX}{RACK}",
                had="none, so that every executor reads from the leader",
                hint=f"add the four options of the recipe, with ${{env:{self.variable}}}",
            )
        elif self.placeholder is None:
            others = ("rack-not-set", "rack-is-constant", "clients-too-old", "rf-below-racks")
            self._skip("the rack is a plain text", but=others)
            yield from self._constant()
        else:
            yield from self._provider(self.placeholder)
            yield from self._jvms()

    def _skip(self, why: str, *, but: Sequence[str]) -> None:
        self.not_checked |= {name: why for name in SPARK_RULES if name not in but}

    def _constant(self) -> Iterator[SparkFinding]:
        racks = self.answers.racks
        if len(racks) > 1:
            names = names_text([escaped(each) for each in sorted(racks)])
            yield _finding(
                "rack-is-constant",
                where=f"option {PREFIX}{RACK}",
                wanted=f"${{env:{self.variable}}}",
                had=f"{escaped(self.rack)} for executors in {names}",
                hint="one text is the same for all executors: use the four options of the recipe",
            )
        elif not racks:
            self.not_checked["rack-is-constant"] = f"no executor has {self.variable}"

    def _provider(self, placeholder: re.Match[str]) -> Iterator[SparkFinding]:
        name, path = placeholder[1], placeholder[2]
        class_option = f"{PROVIDERS}.{name}.class"
        declared = [each.strip() for each in self.kafka.get(PROVIDERS, "").split(",")]
        if name not in declared:
            yield _finding(
                "provider-missing",
                where=f"option {PREFIX}{PROVIDERS}",
                wanted=name,
                had=", ".join(filter(None, declared)) or "none",
                hint=f"set {PREFIX}{PROVIDERS}={name} and {PREFIX}{class_option}={ENV_PROVIDER}",
            )
        elif class_option not in self.kafka:
            yield _finding(
                "provider-missing",
                where=f"option {PREFIX}{class_option}",
                wanted=ENV_PROVIDER,
                had="none",
                hint=f"set {PREFIX}{class_option}={ENV_PROVIDER}",
            )
        elif self.kafka[class_option] != ENV_PROVIDER:
            yield _finding(
                "provider-wrong",
                where=f"option {PREFIX}{class_option}",
                wanted=ENV_PROVIDER,
                had=self.kafka[class_option],
                hint="files and vaults are the same for all executors of a host at best; "
                f"set {PREFIX}{class_option}={ENV_PROVIDER}",
            )
        elif path:
            yield _finding(
                "provider-wrong",
                where=f"option {PREFIX}{RACK}",
                wanted=f"${{{name}:{self.variable}}}",
                had=self.rack,
                hint="the environment has no path; the client refuses to start with one",
            )
        else:
            yield from self._allowed(name)

    def _allowed(self, name: str) -> Iterator[SparkFinding]:
        option = f"{PROVIDERS}.{name}.param.allowlist.pattern"
        if self.answers.is_allowed:
            return
        is_pattern = self.answers.is_allowed is not None
        yield _finding(
            "allowlist-blocks",
            where=f"option {PREFIX}{option}",
            wanted=f"a regular expression that {self.variable} matches whole",
            had=f"{self.kafka.get(option, '')}{'' if is_pattern else ', which is none'}",
            hint=f"set {PREFIX}{option}={self.variable}",
        )

    def _jvms(self) -> Iterator[SparkFinding]:
        executors = sorted(self.answers.executors, key=lambda each: each.name)
        driver = self.answers.driver
        is_apart = driver is not None and driver not in self.answers.executors
        everyone = [*executors, *([driver] if driver is not None and is_apart else [])]
        yield from self._clients(everyone)
        yield from self._disabled(everyone)
        unset = [each.name for each in executors if not each.value]
        if unset:
            yield _finding(
                "variable-unset",
                where=f"{len(unset)} of {counted(len(executors), 'executor')}",
                wanted=f"{self.variable} in the environment",
                had=f"none on {names_text(unset)}",
                hint="harmless, they read from the leader; set it where the executor is started, "
                "spark.executorEnv is one value for all",
            )
        if driver is None:
            self.not_checked["variable-unset"] = "the driver could not be asked"
        elif is_apart and not driver.value:
            yield _finding(
                "variable-unset",
                severity=_I,
                where="driver",
                wanted=f"{self.variable} in the environment",
                had=f"none on {driver.name}",
                hint="harmless, it asks for offsets alone; set it before the driver starts",
            )

    def _clients(self, jvms: Iterable[Jvm]) -> Iterator[SparkFinding]:
        versions = {each.clients for each in jvms}
        if None in versions:
            self.not_checked["clients-too-old"] = (
                "kafka-clients is not there; start the session with the connector that the job uses"
            )
        for version in sorted(each for each in versions if each is not None):
            if _numbers(version) < OLDEST_CLIENTS:
                yield _finding(
                    "clients-too-old",
                    where="kafka-clients",
                    wanted="3.5 or later",
                    had=version,
                    hint="take a newer connector: spark-sql-kafka-0-10 of Spark 3.5 or later",
                )

    def _disabled(self, jvms: Iterable[Jvm]) -> Iterator[SparkFinding]:
        for value in sorted({each.providers for each in jvms if each.providers is not None}):
            if ENV_PROVIDER not in {each.strip() for each in value.split(",")}:
                those = sorted(each.name for each in jvms if each.providers == value)
                yield _finding(
                    "providers-disabled",
                    where=f"system property {AUTOMATIC}",
                    wanted=ENV_PROVIDER,
                    had=f"{escaped(value) or 'empty'} on {names_text(those)}",
                    hint=f"the client will not start: -D{AUTOMATIC}={ENV_PROVIDER} in "
                    "spark.executor.extraJavaOptions and spark.driver.extraJavaOptions",
                )


def _uncovered(view: View, racks: Iterable[str]) -> Iterator[SparkFinding]:
    """Racks of executors and of brokers in which not every partition has a replica."""
    whole = len(view.cluster.partitions)
    for rack in racks:
        near = int(view.covers(rack).sum())
        if rack in view.rack_names and near < whole:
            yield _finding(
                "rf-below-racks",
                where=f"rack {rack}",
                wanted=f"a replica of each of {counted(whole, 'partition')}",
                had=f"of {near}",
                hint="Spark sends no task to a rack: executors here read the others across racks; "
                "more replicas mend it",
            )


def _finding(
    rule: str, *, where: str, wanted: str, had: str, hint: str, severity: Severity | None = None
) -> SparkFinding:
    return SparkFinding(
        rule=rule,
        severity=severity or SPARK_RULES[rule].severity,
        topic=None,
        partition=None,
        broker=None,
        level=None,
        wanted=wanted,
        had=escaped(had),
        where=where,
        hint=hint,
    )


def _numbers(version: str) -> tuple[int, ...]:
    """`3.9.2` -> (3, 9): what comes before the second point."""
    return tuple(int(each) for each in re.findall(r"[0-9]+", version)[:2])
