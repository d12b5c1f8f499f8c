"""Completion in bash, zsh and fish: commands, options and values.

`rackwise --show-completion bash` prints a script. For each Tab, the script starts `rackwise` with
two environment variables: the shell, and the line up to the cursor. The answer is one candidate a
line. No candidate means that the shell completes file names.

```
rackwise pl              place  placers  plan          no command is loaded
rackwise plan re         repair  replace               values of an argument
rackwise plan repair --mi                              --minimise
rackwise plan repair --minimise                        moves  bytes  usd
```

An option of typer with `autocompletion` completes its values by that function.
"""

from __future__ import annotations

import shlex
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from rackwise.cli.usage.global_options import bare_fleet_with_value, split_globals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from rackwise.cli.usage.help import Command

Context = Any
Param = Any
"""Click's classes, which have no public name in typer."""
COMPLETE, LINE = "_RACKWISE_COMPLETE", "_RACKWISE_LINE"


class CompletionShell(StrEnum):
    """A shell with a script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


SCRIPTS = {
    CompletionShell.BASH: """\
# Completion of rackwise for bash. In ~/.bashrc: eval "$(rackwise --show-completion bash)"
_rackwise_complete() {
    local IFS=$'\\n' line="${COMP_LINE:0:COMP_POINT}"
    COMPREPLY=($(_RACKWISE_COMPLETE=bash _RACKWISE_LINE="$line" "$1" 2>/dev/null))
}
complete -o default -F _rackwise_complete rackwise
""",
    CompletionShell.ZSH: """\
#compdef rackwise
# Completion of rackwise for zsh. In ~/.zshrc, below compinit:
# eval "$(rackwise --show-completion zsh)"
_rackwise_complete() {
    local -a found
    found=("${(@f)$(_RACKWISE_COMPLETE=zsh _RACKWISE_LINE="${(j: :)words[1,CURRENT]}" \\
        "$words[1]" 2>/dev/null)}")
    if [[ -n "$found[1]" ]]; then
        _describe rackwise found
    else
        _files
    fi
}
compdef _rackwise_complete rackwise
""",
    CompletionShell.FISH: """\
# Completion of rackwise for fish. In config.fish: rackwise --show-completion fish | source
function __rackwise_complete
    set -l found (env _RACKWISE_COMPLETE=fish _RACKWISE_LINE=(commandline -cp | string collect) \\
        rackwise 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete --command rackwise --no-files --arguments '(__rackwise_complete)'
""",
}


class Candidate(NamedTuple):
    """A word that may stand at the cursor."""

    value: str
    about: str = ""


def complete(
    environment: Mapping[str, str],
    commands: Mapping[str, Command],
    build: Callable[..., typer.Typer],
) -> int:
    """Print the candidates for the line in the environment; return the exit code.

    `build`: `build_app`. An error in a command's own code completes nothing: a person is typing.
    """
    shell, line = environment[COMPLETE], environment.get(LINE, "")
    with suppress(Exception):
        for each in candidates(line, commands, build):
            if each.value.isprintable():
                print(_shown(each, shell, line))
    return 0


def _shown(found: Candidate, shell: str, line: str) -> str:
    """A candidate as the script of its shell takes it."""
    if shell == CompletionShell.FISH:
        return f"{found.value}\t{found.about}"
    if shell == CompletionShell.ZSH:
        value = found.value.replace("\\", "\\\\").replace(":", "\\:")
        return f"{value}:{found.about}" if found.about else value
    # Bash completes the part after the last = or :, where it ends a word.
    word = words_of(line)[-1]
    start = max(word.rfind("="), word.rfind(":")) + 1
    return found.value[start:]


def words_of(line: str) -> list[str]:
    """The words up to the cursor; the last one is being typed.

    >>> words_of("rackwise plan 'a b' --mi"), words_of("rackwise ")
    (['rackwise', 'plan', 'a b', '--mi'], ['rackwise', ''])
    """
    for end in ("", "'", '"'):  # a quote that is still open
        with suppress(ValueError):
            words = shlex.split(line + end)
            return [*words, ""] if not words or (not end and line[-1:].isspace()) else words
    return ["", ""]


def candidates(
    line: str, commands: Mapping[str, Command], build: Callable[..., typer.Typer]
) -> Iterator[Candidate]:
    """The words that may stand at the end of the line; none where file names may."""
    _, *before, typed = words_of(line) if " " in line else ["", line]
    *before, _ = bare_fleet_with_value([*before, typed])
    _, rest = split_globals(before)
    if not rest or rest[0] not in commands:
        yield from _first_words(before, typed, commands, build, has_command=bool(rest))
        return
    name, *rest = rest
    root: Any = typer.main.get_command(build(name))
    command = root.commands[name]
    inner = getattr(command, "commands", None)
    if inner is not None:
        if not rest:
            yield from _starting(
                typed, ((each, inner[each].get_short_help_str(60)) for each in inner)
            )
            return
        name, *rest = rest
        command = inner.get(name)
        if command is None:
            return
    shown = [*command.params, *root.params]
    with suppress(Exception):  # what is typed so far may be wrong
        context = command.make_context(name, [*rest], resilient_parsing=True)
        yield from _values(context, shown, rest, typed, before)


def _first_words(
    before: list[str],
    typed: str,
    commands: Mapping[str, Command],
    build: Callable[..., typer.Typer],
    *,
    has_command: bool,
) -> Iterator[Candidate]:
    """The names of commands, or the global options and their values."""
    root: Any = typer.main.get_command(build())
    valued = {name for each in root.params if _takes_value(each) for name in each.opts}
    if typed.startswith("-") or valued & {*before[-1:]}:
        context = root.make_context("rackwise", [], resilient_parsing=True)
        yield from _values(context, root.params, before, typed, before)
    elif not has_command:
        yield from _starting(typed, ((name, each.summary) for name, each in commands.items()))


def _values(
    context: Context, params: list[Param], rest: list[str], typed: str, before: list[str]
) -> Iterator[Candidate]:
    """Values of the option before the cursor, names of options, or values of an argument."""
    options = {name: each for each in params for name in each.opts if name.startswith("-")}
    last = before[-1] if before else ""
    name, is_joined, value = typed.partition("=")
    if "--" in rest:
        return
    if is_joined and name in options:
        found = _completed(context, options[name], value)
        yield from (Candidate(f"{name}={each.value}", each.about) for each in found)
    elif last in options and _takes_value(options[last]):
        yield from _completed(context, options[last], typed)
    elif typed.startswith("-"):
        shown = ((each, options[each].help or "") for each in options if each.startswith("--"))
        yield from _starting(typed, shown)
        yield from _starting(typed, [("--help", "Show this message and exit.")])
    else:
        arguments = [each for each in params if each.param_type_name == "argument"]
        index = len(_positional(rest, options))
        if arguments and (index < len(arguments) or arguments[-1].nargs == -1):
            yield from _completed(context, arguments[min(index, len(arguments) - 1)], typed)


def _positional(rest: list[str], options: Mapping[str, Param]) -> list[str]:
    """The words that are neither options nor their values."""
    found = []
    pending = iter(rest)
    for word in pending:
        if word.startswith("-"):
            if word in options and _takes_value(options[word]):
                next(pending, None)
        else:
            found.append(word)
    return found


def _takes_value(option: Param) -> bool:
    return not option.is_flag and not option.count


def _completed(context: Context, param: Param, typed: str) -> Iterator[Candidate]:
    """The values of an option or argument that begin with `typed`; none for files."""
    found = param.shell_complete(context, typed)
    return _starting(
        typed, ((each.value, each.help or "") for each in found if each.type == "plain")
    )


def _starting(typed: str, found: Iterable[tuple[str, str]]) -> Iterator[Candidate]:
    return (Candidate(value, about) for value, about in found if value.startswith(typed))
