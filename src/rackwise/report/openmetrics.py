r"""The counters of producers as OpenMetrics text, for what scrapes programs or reads their files.

```
# HELP rackwise_producer_bytes Bytes given to partitions, by how far their leaders were.
# TYPE rackwise_producer_bytes counter
# UNIT rackwise_producer_bytes bytes
rackwise_producer_bytes_total{topic="orders",ends="local",steered="true"} 17000
..
rackwise_producer_fallbacks_total{topic="orders",reason="no-local-leader"} 3
# EOF
```

`ends`: local, cross, unknown. `steered`: whether the choice was ours; keyed records' was not.
`tier`: where a window's partition was found. `reason`: why a window ended, or went elsewhere.
Label values are texts from outside: `\`, `"` and line feeds are escaped, a lone surrogate too.

What this does not do: serve HTTP, or add up; the numbers are those of `PartitionerCounters`.
Source: OpenMetrics 1.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ENDS = ("local", "cross", "unknown")
NO_LABELS: Mapping[str, str] = {}

_PREFIX = "rackwise_producer_"
_HELP = {
    "bytes": "Bytes given to partitions, by how far their leaders were.",
    "windows": "Windows begun, by the tier of their partition.",
    "switches": "Windows ended, by why.",
    "fallbacks": "Windows that did not go where it was wished, by why.",
}
_LABEL = {"windows": "tier", "switches": "reason", "fallbacks": "reason"}


def producer_metrics(
    counters: Mapping[str, Mapping[str, Any]], *, labels: Mapping[str, str] = NO_LABELS
) -> str:
    """The text; `counters`: topic -> `PartitionerCounters.as_dict()`; `labels`: of every sample.

    >>> none = {"windows": {}, "switches": {}, "fallbacks": {}}
    >>> bytes_ = {"local_bytes": 7, "cross_bytes": 0, "unknown_bytes": 0}
    >>> text = producer_metrics({"t": {"steered": bytes_, "unsteered": bytes_, **none}})
    >>> text.splitlines()[3]
    'rackwise_producer_bytes_total{topic="t",ends="local",steered="true"} 7'
    """
    lines: list[str] = []
    for family, told in _HELP.items():
        name = _PREFIX + family
        lines += [f"# HELP {name} {told}", f"# TYPE {name} counter"]
        if family == "bytes":
            lines.append(f"# UNIT {name} bytes")
        for topic in sorted(counters):
            samples = _bytes if family == "bytes" else _named
            lines += [
                f"{name}_total{_braced({**labels, 'topic': topic, **own})} {value}"
                for own, value in samples(counters[topic], family)
            ]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _bytes(counters: Mapping[str, Any], _family: str) -> Iterator[tuple[Mapping[str, str], int]]:
    for part, steered in (("steered", "true"), ("unsteered", "false")):
        for ends in ENDS:
            yield {"ends": ends, "steered": steered}, counters[part][f"{ends}_bytes"]


def _named(counters: Mapping[str, Any], family: str) -> Iterator[tuple[Mapping[str, str], int]]:
    for name, value in sorted(counters[family].items()):
        yield {_LABEL[family]: name}, value


def _braced(labels: Mapping[str, str]) -> str:
    pairs = [f'{name}="{_escaped(value)}"' for name, value in labels.items()]
    return "{" + ",".join(pairs) + "}"


def _escaped(value: str) -> str:
    sound = value.encode("utf-8", "backslashreplace").decode()
    return sound.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
