"""The format `rackwise.summary/1`: the fields of a summary, and the check of a document.

A summary comes from the pipeline, or from a file that was stored, copied or edited. Renderers index
a checked summary without further checks. Keys that are not declared here are allowed, so that a
later version can add keys.
"""

# ruff: noqa: D102, ARG002 (what Form says of a method holds in every form)

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from rackwise.core.errors import InvalidSummary
from rackwise.core.json.faults import Fault, Faults, shown_value
from rackwise.core.json.forms import (
    AnyForm,
    FlagForm,
    Form,
    IntegerForm,
    ListForm,
    MappingForm,
    NullableForm,
    RecordForm,
    ScalarForm,
    TextForm,
)
from rackwise.core.json.node import JsonNode
from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.json.forms import Definitions, Schema
    from rackwise.core.json.strict import Json

FORMAT: Final = "rackwise.summary/1"

_DECIMAL = re.compile(r"-?\d{1,30}(\.\d{1,30})?([eE][-+]?\d{1,2})?", re.ASCII)


class NumberOrTextForm(Form):
    """A number, or a decimal number as text."""

    wanted = "a decimal number"
    hint = None

    @override
    def is_plain(self, value: Json) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return False
        return _DECIMAL.fullmatch(str(value)) is not None

    @override
    def read(self, node: JsonNode) -> Any:  # noqa: ANN401 (a number or a text)
        if not self.is_plain(node.value):
            self.wrong(node)
        return node.value

    @property
    @override
    def stand_in(self) -> int:
        return 0

    @override
    def schema(self, definitions: Definitions) -> Schema:
        return {"type": ["number", "string"]}


def _record(**members: Form) -> RecordForm:
    return RecordForm(members, is_open=True)


def _rows(**members: Form) -> ListForm:
    return ListForm(_record(**members))


TEXT: Final = TextForm()
FLAG: Final = FlagForm()
INTEGER: Final = IntegerForm(-(2**63), 2**63 - 1, "an integer")
SCALAR: Final = ScalarForm()
NUMBER: Final = NullableForm(NumberOrTextForm())
_COUNT: Final = NullableForm(INTEGER)
_USD: Final = NullableForm(TextForm("a decimal number", pattern=_DECIMAL))
_TEXT: Final = NullableForm(TEXT)
_ROLL_UP: Final[Mapping[str, Form]] = {
    "bytes_local": INTEGER,
    "bytes_cross": INTEGER,
    "bytes_unknown": INTEGER,
    "usd": _USD,
    "usd_high": _USD,
    "share": NUMBER,
}
_DAY: Final[Mapping[str, Form]] = {
    "day": TEXT,
    "bytes_local": _COUNT,
    "bytes_cross": _COUNT,
    "bytes_unknown": _COUNT,
    "cross_share": NUMBER,
    "usd": _USD,
    "partitions": _COUNT,
    "partitions_unsafe": _COUNT,
}
_SAVED: Final[Mapping[str, Form]] = {
    "bytes_low": _COUNT,
    "bytes_high": _COUNT,
    "bytes_saved": _COUNT,
    "usd_low": _USD,
    "usd_high": _USD,
    "usd_saved": _USD,
    "usd_low_30d": _USD,
    "usd_high_30d": _USD,
    "usd_saved_30d": _USD,
    "reason": _TEXT,
}
_BILLED: Final[Mapping[str, Form]] = {
    "billed_bytes": _COUNT,
    "billed_usd": _USD,
    "kafka_bytes": _COUNT,
    "kafka_bytes_high": _COUNT,
    "kafka_usd": _USD,
    "share": NUMBER,
    "share_high": NUMBER,
    "reason": _TEXT,
}
_UNATTRIBUTED: Final[Mapping[str, Form]] = {
    "bytes": INTEGER,
    "bytes_cross": INTEGER,
    "usd": _USD,
    "usd_high": _USD,
    "usd_30d": _USD,
    "usd_high_30d": _USD,
}
_MONTHLY: Final = _record(usd=_USD, usd_known=_USD, unknown=INTEGER, reason=_TEXT)
SUMMARY: Final = _record(
    run_id=TEXT,
    version=TEXT,
    clusters=_rows(
        name=TEXT,
        cluster_id=_TEXT,
        taken_at=_TEXT,
        snapshots=INTEGER,
        brokers=INTEGER,
        racks=INTEGER,
        topics=INTEGER,
        partitions=INTEGER,
        partitions_unsafe=_COUNT,
        bytes_cross=_COUNT,
        bytes_cross_unattributed=_COUNT,
        usd=_USD,
        usd_high=_USD,
    ),
    levels=ListForm(TEXT),
    observed=NullableForm(
        _record(
            **{"from": TEXT},
            to=TEXT,
            seconds=INTEGER,
        )
    ),
    verdict=_record(
        partitions=INTEGER,
        partitions_unsafe=_COUNT,
        findings=INTEGER,
        bytes_total=_COUNT,
        bytes_local=_COUNT,
        bytes_cross=_COUNT,
        bytes_unknown=_COUNT,
        usd=_USD,
        usd_high=_USD,
        usd_30d=_USD,
        usd_high_30d=_USD,
        reason=_TEXT,
        reason_30d=_TEXT,
    ),
    unattributed=NullableForm(_record(**_UNATTRIBUTED, causes=_rows(reason=TEXT, **_UNATTRIBUTED))),
    quality=_record(
        bytes_measured=_COUNT,
        bytes_metered=_COUNT,
        bytes_apportioned=_COUNT,
        bytes_estimated=_COUNT,
        bytes_unknown_rack=_COUNT,
        bytes_unpriced=_COUNT,
        bytes_extrapolated_price=_COUNT,
        bytes_unchecked_price=_COUNT,
        rows_quarantined=_COUNT,
        share_quarantined=NUMBER,
        rows_skipdata=_COUNT,
    ),
    matrix=_rows(
        cluster=TEXT,
        level=INTEGER,
        level_name=_TEXT,
        from_rack=TEXT,
        to_rack=TEXT,
        bytes=INTEGER,
        usd=_USD,
    ),
    by_topic=_rows(cluster=TEXT, topic=TEXT, **_ROLL_UP),
    by_group=_rows(cluster=TEXT, client_group=TEXT, **_ROLL_UP),
    by_owner=_rows(cluster=TEXT, owner=TEXT, **_ROLL_UP),
    by_pair=_rows(cluster=TEXT, from_rack=TEXT, to_rack=TEXT, **_ROLL_UP),
    by_level=_rows(level=INTEGER, level_name=_TEXT, **_ROLL_UP),
    by_day=_rows(day=TEXT, **_ROLL_UP),
    by_kind=_rows(kind=TEXT, **_ROLL_UP),
    history=_record(
        days=_rows(
            **_DAY,
            usd_change=NUMBER,
            cross_share_change=NUMBER,
            partitions_unsafe_change=NUMBER,
        ),
        clusters=_rows(cluster=TEXT, **_DAY),
        week=_record(
            days=INTEGER,
            **{"from": _TEXT},
            to=_TEXT,
            usd=_USD,
            usd_before=_USD,
            usd_change=NUMBER,
            cross_share=NUMBER,
            cross_share_before=NUMBER,
            partitions_unsafe=_COUNT,
            partitions_unsafe_before=_COUNT,
            reason=_TEXT,
        ),
    ),
    unmetered=NullableForm(
        _record(
            count=INTEGER,
            by_reason=_rows(reason=TEXT, cause=TEXT, cure=TEXT, partitions=INTEGER),
            rows=_rows(
                cluster=TEXT,
                kind=TEXT,
                topic=TEXT,
                client_group=_TEXT,
                reason=TEXT,
                cause=TEXT,
                cure=TEXT,
                partitions=INTEGER,
                seconds=INTEGER,
            ),
        )
    ),
    reconciliation=NullableForm(
        _record(
            pairs=INTEGER,
            pairs_off=INTEGER,
            pairs_one_source=INTEGER,
            flow_bytes_per_s=INTEGER,
            meter_bytes_per_s=INTEGER,
            ratio=SCALAR,
            rows=_rows(
                cluster=TEXT,
                day=TEXT,
                from_broker=INTEGER,
                to_broker=INTEGER,
                flow_bytes_per_s=_COUNT,
                meter_bytes_per_s=_COUNT,
                ratio=SCALAR,
                is_off=SCALAR,
            ),
        )
    ),
    billed=NullableForm(
        _record(
            files=INTEGER,
            lines=INTEGER,
            **{"from": _TEXT},
            to=_TEXT,
            days=INTEGER,
            **_BILLED,
            finding=_TEXT,
            left_out=_rows(reason=TEXT, lines=INTEGER, usd=_USD),
            count=INTEGER,
            rows=_rows(day=TEXT, region=TEXT, **_BILLED),
        )
    ),
    savings=NullableForm(
        _record(
            total=_record(**_SAVED),
            steps=_rows(
                view=TEXT,
                saving=TEXT,
                eps=_TEXT,
                **_SAVED,
                load_factor=NUMBER,
                reasons=ListForm(TEXT),
            ),
            conditions=MappingForm(TEXT, "any"),
            count=INTEGER,
            rows=_rows(
                cluster=TEXT,
                topic=_TEXT,
                client_group=_TEXT,
                saving=TEXT,
                view=TEXT,
                eps=_TEXT,
                **_SAVED,
            ),
        )
    ),
    rows=MappingForm(INTEGER, "any"),
    findings=_record(
        by_rule=_rows(rule=TEXT, severity=TEXT, consequence=TEXT, count=INTEGER, sentence=TEXT),
        by_topic=_rows(
            cluster=TEXT,
            topic=TEXT,
            consequence=TEXT,
            worst=INTEGER,
            count=INTEGER,
            partitions=INTEGER,
            rules=TEXT,
        ),
        worst=_rows(
            cluster=TEXT,
            rule=TEXT,
            severity=TEXT,
            consequence=TEXT,
            topic=_TEXT,
            partition=_COUNT,
            broker=_COUNT,
            level=SCALAR,
            wanted=_TEXT,
            had=_TEXT,
            message=_TEXT,
        ),
        not_checked=_rows(cluster=TEXT, rule=TEXT, reason=TEXT),
    ),
    blast=_rows(
        cluster=TEXT,
        rack=TEXT,
        level=INTEGER,
        partitions_offline=INTEGER,
        partitions_below_min_isr=INTEGER,
        leaders_lost=INTEGER,
        top_survivor_leader_share=NUMBER,
        replicas_lost=INTEGER,
        bytes_to_restore=_COUNT,
        cross_bytes_to_restore=_COUNT,
        usd_to_restore=_USD,
        groups_lost=_COUNT,
        member_share_lost=NUMBER,
    ),
    actions=_rows(
        kind=TEXT,
        cluster=TEXT,
        title=TEXT,
        why=TEXT,
        partitions_offline=INTEGER,
        usd_once=_USD,
        usd_monthly=_USD,
        saves_low_usd=_USD,
        saves_high_usd=_USD,
        steps=_rows(where=TEXT, line=TEXT),
    ),
    plans=NullableForm(
        _record(
            goal=TEXT,
            clusters=INTEGER,
            planned=INTEGER,
            proved=INTEGER,
            moves=INTEGER,
            partitions=INTEGER,
            bytes=_COUNT,
            usd=_USD,
            monthly=_MONTHLY,
            monthly_reads=_MONTHLY,
            rows=_rows(
                cluster=TEXT,
                status=TEXT,
                minimise=TEXT,
                moves=_COUNT,
                partitions=_COUNT,
                leader_changes=_COUNT,
                bytes=_COUNT,
                cross_bytes=_COUNT,
                usd=_USD,
                monthly_cross_bytes=_COUNT,
                monthly_usd=_USD,
                monthly_reads_usd=_USD,
                lower_bound=_COUNT,
                verdict=_TEXT,
                reason=_TEXT,
                hint=_TEXT,
                file=_TEXT,
            ),
        )
    ),
    method=_record(
        prices=_rows(
            provider=TEXT,
            region=TEXT,
            level=TEXT,
            kind=TEXT,
            usd_per_gb_out=SCALAR,
            usd_per_gb_in=SCALAR,
            gb_bytes=SCALAR,
            valid_from=SCALAR,
            valid_to=SCALAR,
            source=SCALAR,
            is_checked=FLAG,
            is_extrapolated=FLAG,
            row=SCALAR,
        ),
        outcomes=_rows(reason=TEXT, rows=INTEGER, bytes=_COUNT),
        rows_in=_COUNT,
        bytes_in=_COUNT,
        files=_rows(file=TEXT, rows=INTEGER, quarantined=INTEGER),
        precedence=_rows(cluster=TEXT, day=TEXT, kind=TEXT, source=TEXT),
        options=MappingForm(AnyForm(), "any"),
        versions=MappingForm(SCALAR, "any"),
    ),
    csv=ListForm(TEXT),
    failed=_rows(snapshot=TEXT, error=TEXT, message=TEXT, hint=_TEXT),
    notes=ListForm(TEXT),
)
"""The fields of a summary."""

_AGAIN: Final = "run rackwise analyze again: the summary was cut or edited"


def check(summary: Mapping[str, Any]) -> None:
    """Reject a document that is not a summary of this format.

    Raises `InvalidSummary` with the JSON path of the first fault and the number of other faults.
    """
    had = summary.get("format") if isinstance(summary, dict) else summary
    if had != FORMAT:
        faults = Faults("summary", InvalidSummary)
        raise faults.last(
            Fault(
                place="$.format",
                sentence=f"expected {FORMAT}, got {shown_value(had)}",
                wanted=FORMAT,
                had=shown_value(had),
                hint="run rackwise analyze again, or render it with the Rackwise that wrote it",
            )
        )
    faults = Faults("summary", InvalidSummary, hint=_AGAIN)
    SUMMARY.read(JsonNode(summary, faults))
    faults.raise_if_any()
