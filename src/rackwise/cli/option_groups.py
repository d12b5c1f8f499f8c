"""Groups of options that several commands share.

A group is a dataclass, and each of its fields is one option. A command takes one object of it:

```
@dataclass(frozen=True)
class StoreOptions:
    store: Annotated[str | None, typer.Option(metavar="URL", help="..")] = None

@with_option_groups()
def gc(context: typer.Context, apply: Apply, options: StoreOptions) -> int: ...
```

The command line then shows `--apply` and `--store URL`. A group checks its values in
`__post_init__`.
"""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


def with_option_groups(
    *, without: Collection[str] = ()
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Replace each parameter of a command that is a group by the options of the group.

    `without`: fields that are no options of this command and keep their defaults.
    """

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        own = signature(command, eval_str=True).parameters
        groups = {
            name: _options(each.annotation, without)
            for name, each in own.items()
            if is_dataclass(each.annotation)
        }
        shown: list[Parameter] = []
        for name, each in own.items():
            shown += groups.get(name, [each.replace(kind=Parameter.KEYWORD_ONLY)])

        @wraps(command)
        def run(**values: Any) -> int:  # noqa: ANN401 (values of any option)
            for name, options in groups.items():
                given = {each.name: values.pop(each.name) for each in options}
                values[name] = own[name].annotation(**given)
            return command(**values)

        # Typer reads the signature and the annotations of the function that it calls.
        run.__annotations__ = {each.name: each.annotation for each in shown}
        vars(run)["__signature__"] = Signature(shown, return_annotation=int)
        return run

    return decorate


def _options(group: Any, without: Collection[str]) -> list[Parameter]:  # noqa: ANN401 (a dataclass)
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            each.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if each.default is MISSING else each.default,
            annotation=hints[each.name],
        )
        for each in fields(group)
        if each.name not in without
    ]
