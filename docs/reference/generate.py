"""Writes the generated pages: commands, errors, rules, policy, fleet, tables, identity, KIPs, map.

Run `python docs/reference/generate.py`; a test regenerates them and compares.
"""

from __future__ import annotations

import ast
import json
from dataclasses import fields, is_dataclass
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from runpy import run_path
from textwrap import dedent
from typing import TYPE_CHECKING

from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from rackwise.adapters.files.plan.format import FORMAT as PLAN_FORMAT
from rackwise.adapters.files.plan.format import PLAN
from rackwise.adapters.files.publishing.manifest import FORMAT as MANIFEST_FORMAT
from rackwise.adapters.files.publishing.manifest import MANIFEST_FORM
from rackwise.adapters.files.snapshot.format import FORMAT as SNAPSHOT_FORMAT
from rackwise.adapters.files.snapshot.format import SNAPSHOT
from rackwise.adapters.files.split import SPLIT, SPLIT_FORMAT
from rackwise.adapters.files.tables.rack_rates import RATES, RATES_FORMAT
from rackwise.adapters.kafka.applying.driver import REPLICATION_FLAG
from rackwise.cli.app import COMMANDS, build_app
from rackwise.cli.documents import DOCUMENTS
from rackwise.core import errors
from rackwise.core.applying.journal.codec import FORMAT as JOURNAL_FORMAT
from rackwise.core.applying.journal.codec import LINE
from rackwise.core.audit import RULES, Rule
from rackwise.core.fetch_diagnosis import READING_RULES
from rackwise.core.fleet.flows.truth import FORMAT as TRUTH_FORMAT
from rackwise.core.fleet.flows.truth import TRUTH
from rackwise.core.fleet_file import FLEET_TABLES
from rackwise.core.identity.decision.table import ROWS
from rackwise.core.identity.nodes.node_json import CODEC as IDENTITY_CODEC
from rackwise.core.identity.nodes.node_json import OURS as IDENTITY_NODES
from rackwise.core.identity.refusals import CODES
from rackwise.core.json.forms import Definitions, Form
from rackwise.core.partitioner import PRODUCER_RULES
from rackwise.core.policy import DEFAULT_POLICY
from rackwise.core.policy.format import POLICY, POLICY_FORMAT, policy_table
from rackwise.core.wire.upgrade import UPGRADE_RULES
from rackwise.pipeline import schemas
from rackwise.pipeline.spark_racks.check import SPARK_RULES
from rackwise.report.shape import FORMAT as SUMMARY_FORMAT
from rackwise.report.shape import SUMMARY

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src" / "rackwise"
DECISIONS = [
    "The first row that holds decides. [The concept](../concepts/identity.md) says why.",
    "",
    "| letter | means |",
    "|---|---|",
    "| C | the configured id: `broker.id`, `node.id`, or `--override` in the command; -1 is none |",
    "| m | the id in `meta.properties` of the log dirs |",
    "| H, h | the mapping of the own key, and its id |",
    "| n | C, else m; D9 to D17 hold where one of them is set, D18 to D38 where neither is |",
    "| L, K, T | ids that are registered, claimed, used by replicas |",
    "| R, Z, O | ids that other keys are mapped to, that are retired, that have an owner |",
    "| U | other keys whose mapping cannot be read: each may have every id of T that is not in R |",
    "| W | how long to wait for a stale registration |",
    "| S | spares: T - L - K - Z |",
    "| cand | those of S missing for the grace: in R with `--spare any`; others if U is empty |",
    "",
    "*held(n)*: n is in L, or in K under another session. *looks like me*: the claim has my key,",
    "or the Owner of this very registration has, or endpoints meet, or nothing is known of it.",
]
POLICY_TEXT = """\
# Policy, every key

A policy is a TOML file that begins with `format = "rackwise.policy/1"`. Every other key may be
absent. Unknown keys are rejected, and so are brokers, racks and levels that the cluster lacks.
`audit`, `plan` and `what-if` take it with `--policy`. The [guide](../guides/policy.md) has recipes.

Blocks of `[[topics]]` are read in order. Where several blocks match a topic, the last one that has
a key wins, key by key, and `spread` level by level.

`spread` is one of these for each level of the racks:

| value | means |
|---|---|
| `even` | no rack holds two replicas more than another rack that has room |
| `distinct` | at most one replica in each rack |
| `{ at_least = N }` | replicas in N distinct racks or more, otherwise anywhere |
| `off` | no rule at this level |

`even` is judged among the racks of one rack of the next coarser level that is not `off`. At the
level of the racks that `count` names, its numbers replace `even`; with `distinct`, a rack also
holds at most one replica. The other levels keep their `spread`. Some rules exclude each other,
because no exact plan exists for them. They are rejected with the line of the file: `even` below a
rack whose `min` and `max` differ by more than 1, and `at_least` together with `count`, or with
`even` or `distinct` at another level.
"""
FLEET_TEXT = """\
# Fleet file, every key

A fleet file is a TOML file that is called `rackwise.toml`. It has a table `[clusters.NAME]` for
each cluster. `[defaults]` takes the same keys for the clusters that do not have them themselves.
Unknown keys are rejected. The [guide](../guides/fleet.md) shows how commands use the file.

Each cluster needs `bootstrap`, and no two clusters have a broker in common. A name has letters,
digits, `.`, `_` and `-`, at most 100, and differs from the others by more than case.

Text may hold references: `${env:NAME}` is the value of a variable, `${file:PATH}` the content of a
file without the line feed at its end. Paths begin at the folder of the fleet file.
"""
TOML_TABLES = {
    "AtLeast": "`{ at_least = N }`",
    "Slack": "`{ slack = N }`",
    "RackCount": "`{ rack = R, exactly = N }` or `{ rack = R, min = N, max = N }`",
}
"""Class of a small table of a policy -> how it is written."""
COMPLETION = [
    "To complete commands, options and values with Tab, add one line to the file that your shell",
    "reads at its start:",
    "",
    "| shell | file | line |",
    "|---|---|---|",
    '| bash | `~/.bashrc` | `eval "$(rackwise --show-completion bash)"` |',
    '| zsh | `~/.zshrc`, below `compinit` | `eval "$(rackwise --show-completion zsh)"` |',
    "| fish | `~/.config/fish/config.fish` | `rackwise --show-completion fish \\| source` |",
    "",
]
REFUSALS = [
    "# Rejections",
    "",
    "`exit` is the exit code of `broker-id acquire`. After 75 a later try may succeed by itself;",
    "the other commands exit with 4 (unreachable: 1). A rejection before the commit leaves the",
    "store and the disks unchanged, byte for byte. The columns expected, got and hint show",
    "examples. A raised error names its own values, the row and the holder, and carries `code`,",
    "`row` and `details`.",
]


def cli() -> str:
    """Every command with its options."""
    lines = [
        "# Commands",
        "",
        "Global options may be anywhere on the command line: `--json --quiet --debug`",
    ]
    lines += ["`--color auto|always|never --max-input SIZE`. Exit codes: 0 done, 1 error, 2"]
    lines += ["differences found, 3 stopped half-way, 4 rejected before the first write.", ""]
    lines += COMPLETION
    for name, command in sorted(_commands(get_command(build_app(*COMMANDS))).items()):
        lines += [
            f"## rackwise {name}",
            "",
            _paragraph(command.help),
            "",
            "| option | means |",
            "|---|---|",
        ]
        for parameter in command.params:
            shown = ", ".join(f"`{o}`" for o in parameter.opts if o.startswith("-"))
            shown = shown or f"`{parameter.metavar or parameter.name.upper()}`"
            lines.append(f"| {shown} | {_cell(getattr(parameter, 'help', None))} |")
        examples = (command.epilog or "").partition("\n")[2].partition("\n")[2]
        lines += ["", "```sh", dedent(examples), "```", ""]
    return "\n".join(lines)


def _commands(group: TyperGroup, before: str = "") -> dict[str, TyperCommand]:
    """Name -> command, those of groups by both names."""
    found: dict[str, TyperCommand] = {}
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            found |= _commands(command, f"{before}{name} ")
        else:
            found[before + name] = command
    return found


def error_tree() -> str:
    """The tree of errors, with the meaning of each leaf."""
    tree = (errors.__doc__ or "").split("```")[1]
    lines = [
        "# Errors",
        "",
        "```",
        tree.strip(),
        "```",
        "",
        "| error | exit | means |",
        "|---|---|---|",
    ]
    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, errors.RackwiseError):
            lines.append(f"| `{name}` | {value.exit_code} | {_cell(value.__doc__)} |")
    return "\n".join(lines) + "\n"


def findings() -> str:
    """Every rule of every check."""
    parts = [
        (
            "Audit rules",
            "`rackwise audit` checks them; the [guide](../guides/audit.md) explains.",
            RULES,
        ),
        (
            "Rules of reading",
            "`rackwise doctor` checks them; the [guide](../guides/doctor.md) says what to do.",
            READING_RULES,
        ),
        (
            "Rules of producing",
            "`PartitionerConfig.problems` and the producers check them; no send fails for them.",
            PRODUCER_RULES,
        ),
        (
            "Rules of the rolling upgrade",
            "`rackwise upgrade check` checks them; the [guide](../guides/upgrade.md) explains.",
            UPGRADE_RULES,
        ),
        (
            "Rules of Spark jobs",
            "`rackwise spark-check` checks them, and three rules of reading.",
            SPARK_RULES,
        ),
    ]
    lines = []
    for title, text, rules in parts:
        lines += [f"# {title}", "", text, "", *_rules(rules), ""]
    return "\n".join(lines)


def _rules(rules: Mapping[str, Rule]) -> list[str]:
    return [
        "| rule | severity | broken when |",
        "|---|---|---|",
        *(
            f"| `{rule.name}` | {rule.severity} | {_cell(rule.sentence)} |"
            for rule in rules.values()
        ),
    ]


def policy() -> str:
    """Every key of a policy with its type, its default and its meaning."""
    definitions = Definitions(_field_docs)
    POLICY.schema(definitions)
    root = definitions["Policy"]["properties"]
    written = policy_table(DEFAULT_POLICY)
    lines = [*POLICY_TEXT.splitlines(), ""]
    for name, part in root.items():
        kind = part.get("$ref", part.get("items", {}).get("$ref", "")).removeprefix("#/$defs/")
        if kind:
            head = f"[[{name}]]" if "items" in part else name
            rules = DEFAULT_POLICY.rules_of("", ["zone"])
            defaults = written.get(name) or {each: getattr(rules, each) for each in rules.__slots__}
            lines += _policy_table(head, definitions[kind], defaults | {"spread": "even"})
    counted = definitions["RackCount"]
    lines += _policy_table("count", counted, {"min": 0})
    return "\n".join(lines)


def fleet_file() -> str:
    """Every key of a fleet file with its type and its meaning."""
    definitions = Definitions(_field_docs)
    FLEET_TABLES.schema(definitions)
    lines = [*FLEET_TEXT.splitlines(), ""]
    return "\n".join([*lines, *_policy_table("[clusters.NAME]", definitions["ClusterKeys"], {})])


def _policy_table(
    name: str, schema: dict[str, object], defaults: Mapping[str, object]
) -> list[str]:
    lines = [f"## `{name}`", "", f"{schema['description']}", ""]
    lines += ["| key | type | default | means |", "|---|---|---|---|"]
    for key, part in schema["properties"].items():
        default = defaults.get(key)
        shown = "required" if key in schema["required"] else f"`{json.dumps(default)}`"
        if default in (None, (), [], {}, "") and key not in schema["required"]:
            shown = "none"
        about = _cell(part.get("description"))
        lines.append(f"| `{key}` | {_cell(_policy_type(part))} | {shown} | {about} |")
    return [*lines, ""]


def _policy_type(part: dict[str, object]) -> str:
    """A type of TOML in few words, with the keys of small tables."""
    if "anyOf" in part:
        return " or ".join(map(_policy_type, part["anyOf"]))
    named = part.get("$ref", "").removeprefix("#/$defs/")
    if named in TOML_TABLES:
        return TOML_TABLES[named]
    if part.get("type") == "array":
        items = _policy_type(part["items"])
        return f"list of {items}s" if items in {"text", "integer"} else f"list of {items}"
    if part.get("type") == "object":
        value = _policy_type(part["additionalProperties"])
        others = "name" if value == "text" else "level"
        return f"table: {'integer' if 'propertyNames' in part else others} -> {value}"
    return "text" if part.get("type") == "string" else _type_text(part)


def identity() -> str:
    """The table of decisions about a broker's id, and every code of `broker-id`."""
    lines = ["# The id of a broker: decision table", "", *DECISIONS]
    lines += ["", "| row | when | outcome | to the letter of KIP-426 |", "|---|---|---|---|"]
    lines += [
        f"| {row.name} | {_cell(row.when)} | {_cell(row.outcome)} | {_cell(row.literal)} |"
        for row in ROWS
    ]
    lines += ["", *REFUSALS, "", "| code | exit | error | expected | got | hint |"]
    lines += ["|---|---|---|---|---|---|"]
    for code in CODES:
        told = (code.expected, code.got, code.hint)
        cells = " | ".join(_cell(text) for text in told)
        lines.append(f"| {code.code} | {code.exit} | `{code.error.__name__}` | {cells} |")
    return "\n".join(lines) + "\n"


def tables() -> str:
    """Every table of the pipeline with its columns."""
    lines = [
        "# Tables of the pipeline",
        "",
        "Codes are valid in one run only; 0 means unknown. Gold tables have names and no codes.",
        "Times are in UTC.",
        "",
    ]
    for name, meanings in schemas.MEANINGS.items():
        lines += [f"## {name}", "", "| column | type | meaning |", "|---|---|---|"]
        for field in getattr(schemas, name.upper()):
            meaning = _cell(meanings[field.name])
            lines.append(f"| `{field.name}` | `{field.dataType.simpleString()}` | {meaning} |")
        lines.append("")
    return "\n".join(lines)


def file_map() -> str:
    """One line per folder of the package: what it holds, and its files."""
    lines = [
        "# Map of the source",
        "",
        "The folders of `src/rackwise/`, what each holds, and the files in it.",
        "",
    ]
    for init in sorted(SOURCE.rglob("__init__.py"), key=lambda file: file.parent.parts):
        folder = init.parent.relative_to(SOURCE)
        depth = len(folder.parts)
        name = folder.name if depth else "rackwise"
        files = sorted(file.stem for file in init.parent.glob("*.py") if file != init)
        listed = f" ({', '.join(files)})" if files else ""
        lines.append(f"{'  ' * depth}- `{name}/` {_about(init)}{listed}")
    return "\n".join(lines) + "\n"


def summary_schema() -> str:
    """The JSON Schema of a summary."""
    constant = {"properties": {"format": {"const": SUMMARY_FORMAT}}, "required": ["format"]}
    return _schema_text(SUMMARY_FORMAT, SUMMARY, allOf=[constant])


def journal_schema() -> str:
    """The JSON Schema of one line of a journal, with the keys that the writer of the file adds."""
    definitions = Definitions(_field_docs)
    root = LINE.schema(definitions)
    added = {
        "seq": {"type": "integer", "minimum": 1, "description": "Number of the line."},
        "at": {"type": "string", "description": "Time of writing, UTC."},
        "check": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
    }
    for name, line in definitions.items():
        line["properties"] |= added
        line["required"] += added
        if name == "Begin":
            line["properties"]["format"] = {"const": JOURNAL_FORMAT}
            line["properties"][REPLICATION_FLAG] = {"type": ["boolean", "null"]}
    return _document(JOURNAL_FORMAT, root, definitions)


def identity_nodes_schema() -> str:
    """The JSON Schema of the nodes of an identity store, one definition for each kind of node."""
    definitions = Definitions(_field_docs)
    kinds = [IDENTITY_CODEC.object(kind).schema(definitions) for kind in IDENTITY_NODES]
    return _document("Nodes of the identity store", {"anyOf": kinds}, definitions)


def documents() -> dict[str, tuple[Form, type]]:
    """Format -> form and class, of each document that a command prints."""
    found = {}
    for file in sorted(SOURCE.glob("cli/**/documents.py")):
        name = ".".join(("rackwise", *file.relative_to(SOURCE).with_suffix("").parts))
        module = import_module(name)
        codec = getattr(module, "CODEC", DOCUMENTS)
        for kind in vars(module).values():
            if is_dataclass(kind) and kind.__module__ == name and "format" in kind.__annotations__:
                said = next(each.default for each in fields(kind) if each.name == "format")
                found[said] = (codec.form(kind), kind)
    return dict(sorted(found.items()))


def document_schema(title: str) -> str:
    """The JSON Schema of a document that a command prints."""
    return _schema_text(title, documents()[title][0])


def document_pages() -> str:
    """Every document that a command prints with --json, with its keys."""
    lines = ["# Documents", "", "With `--json` a command prints one of these documents on stdout."]
    lines += ["A schema file has the types of all nested values.", ""]
    for title, (form, kind) in documents().items():
        definitions = Definitions(_field_docs)
        form.schema(definitions)
        schema = definitions[kind.__name__]
        lines += [f"## {title}", "", f"{schema['description']}", ""]
        lines += [f"Schema: [{_schema_file(title)}]({_schema_file(title)})", ""]
        lines += ["| key | type | means |", "|---|---|---|"]
        for key, part in schema["properties"].items():
            if key != "format":
                optional = "" if key in schema["required"] else ", may be absent"
                about = _cell(part.get("description"))
                lines.append(f"| `{key}` | {_type_text(part)}{optional} | {about} |")
        lines.append("")
    return "\n".join(lines)


def _schema_file(title: str) -> str:
    return f"schemas/{title.removeprefix('rackwise.').removesuffix('/1')}.schema.json"


def _type_text(part: dict[str, object]) -> str:
    """A schema in few words."""
    if "anyOf" in part:
        return " or ".join(map(_type_text, part["anyOf"]))
    if "enum" in part:
        return ", ".join(f"`{each}`" for each in part["enum"])
    if "oneOf" in part or "$ref" in part or "type" not in part:
        return "object" if "$ref" in part or "oneOf" in part else "any value"
    kinds = part["type"] if isinstance(part["type"], list) else [part["type"]]
    if kinds == ["array"]:
        if "items" not in part:
            inner = dict.fromkeys(map(_type_text, part["prefixItems"]))
            return f"{len(part['prefixItems'])} of {', '.join(inner)}"
        items = _type_text(part["items"])
        return f"list of {items}" if " of " in items else f"list of {items}s"
    return " or ".join(kinds)


def _schema_text(title: str, form: Form, **more: object) -> str:
    definitions = Definitions(_field_docs)
    return _document(title, form.schema(definitions) | more, definitions)


def _document(title: str, root: dict[str, object], definitions: Definitions) -> str:
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **root,
        **({"$defs": definitions} if definitions else {}),
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _field_docs(kind: type) -> dict[str, str]:
    """Field -> the string literal below it in the source."""
    docs = {}
    for each in reversed(kind.__mro__):
        for field, text in pairwise(_body(each)):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                docs[field.target.id] = _paragraph(ast.literal_eval(text.value))
    return docs


def _body(kind: type) -> list[ast.stmt]:
    """The statements of a class; empty for a class without a file."""
    # Classes of the front door name `rackwise` as their module; `__init__` keeps the file.
    file = getattr(kind.__init__, "__globals__", {}).get("__file__")
    nodes = ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))) if file else ()
    named = (
        each for each in nodes if isinstance(each, ast.ClassDef) and each.name == kind.__name__
    )
    return next((each.body for each in named), [])


def _about(file: Path) -> str:
    """The first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return _paragraph(text.split("\n\n", maxsplit=1)[0]).removesuffix(".")


def _paragraph(text: str | None) -> str:
    return " ".join((text or "").split())


def _cell(text: str | None) -> str:
    return _paragraph(text).replace("|", "\\|")


PAGES = {"cli.md": cli, "errors.md": error_tree, "findings.md": findings, "tables.md": tables}
PAGES |= {
    "identity.md": identity,
    "policy.md": policy,
    "fleet-file.md": fleet_file,
    "../file-map.md": file_map,
}
PAGES["kips.md"] = run_path(str(HERE / "kips" / "page.py"))["page"]
PAGES |= {
    "schemas/journal.schema.json": journal_schema,
    "schemas/summary.schema.json": summary_schema,
    "schemas/identity-nodes.schema.json": identity_nodes_schema,
    "documents.md": document_pages,
}
PAGES |= {_schema_file(title): partial(document_schema, title) for title in documents()}

FORMS = {
    "manifest": (MANIFEST_FORMAT, MANIFEST_FORM),
    "plan": (PLAN_FORMAT, PLAN),
    "policy": (POLICY_FORMAT, POLICY),
    "rates": (RATES_FORMAT, RATES),
    "snapshot": (SNAPSHOT_FORMAT, SNAPSHOT),
    "split": (SPLIT_FORMAT, SPLIT),
    "truth": (TRUTH_FORMAT, TRUTH),
}
"""Name of a schema -> the format and the form of its documents."""
PAGES |= {
    f"schemas/{name}.schema.json": partial(_schema_text, *each) for name, each in FORMS.items()
}

if __name__ == "__main__":
    for page, make in PAGES.items():
        (HERE / page).write_text(make())
