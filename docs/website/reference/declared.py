"""Commands with their parameters, from their declarations with Typer."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from types import NoneType
from typing import Any, Final, get_args, get_type_hints

import typer
from mcp_protogen.cli.app import app, command_names, load_declaration
from mcp_protogen.cli.usage import NAME
from typer.models import ArgumentInfo, CommandInfo, OptionInfo


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument or an option: its names, its value, its default, its help."""

    names: Sequence[str]
    value: str
    default: str
    help: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command by its whole name, with the commands below it."""

    name: str
    help: str
    parameters: Sequence[Parameter]
    below: Sequence[str]


def commands() -> Iterator[Command]:
    """Yield every command, each group before its commands."""
    yield _group(app, NAME, command_names())
    for name in sorted(command_names()):
        whole, declared = f"{NAME} {name}", load_declaration(name)
        if isinstance(declared, typer.Typer):
            below = {_name(command): command.callback for command in declared.registered_commands}
            yield _group(declared, whole, below)
            for inner, function in sorted(below.items()):
                yield _command(f"{whole} {inner}", function)
        else:
            yield _command(whole, declared)


def _group(of: typer.Typer, name: str, below: Iterable[str]) -> Command:
    callback = of.registered_callback.callback if of.registered_callback else None
    text = inspect.getdoc(callback) if callback else of.info.help
    return Command(name, text or "", [*_parameters(callback)], sorted(below))


def _command(name: str, function: Callable[..., Any] | None) -> Command:
    return Command(name, inspect.getdoc(function) or "", [*_parameters(function)], ())


def _name(command: CommandInfo) -> str:
    return command.name or getattr(command.callback, "__name__", "").replace("_", "-")


def _parameters(function: Callable[..., Any] | None) -> Iterator[Parameter]:
    if function is None:
        return
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        kind, *declared = get_args(hints[name]) or (hints[name],)
        for info in declared:
            if isinstance(info, ArgumentInfo):
                names = [info.metavar or name.upper()]
                yield Parameter(names, "", _default(info, parameter), _help(info))
            elif isinstance(info, OptionInfo):
                value = _value(info, kind)
                default = _default(info, parameter) if value else ""
                yield Parameter(_names(info, name), value, default, _help(info))


def _names(one: OptionInfo, name: str) -> Sequence[str]:
    """Return the names of an option; an annotation has the first one in place of a default."""
    said = [one.default, *(one.param_decls or ())]
    names = [name for text in said if isinstance(text, str) for name in text.split("/")]
    return names or [f"--{name.replace('_', '-')}"]


def _help(one: ArgumentInfo | OptionInfo) -> str:
    return one.help or ""


def _value(one: OptionInfo, kind: Any) -> str:
    """Return the value of an option: a name or the choices; nothing for a flag."""
    kinds = [arm for arm in get_args(kind) or (kind,) if arm is not NoneType]
    if kinds == [bool]:
        return ""
    if isinstance(kinds[0], type) and issubclass(kinds[0], Enum):
        return "|".join(str(kind.value) for kind in kinds[0])
    inner = get_args(kinds[0]) or kinds
    return one.metavar or _KINDS.get(inner[0], "TEXT")


def _default(one: ArgumentInfo | OptionInfo, parameter: inspect.Parameter) -> str:
    if isinstance(one.show_default, str):
        return one.show_default
    default = getattr(parameter.default, "value", parameter.default)
    return "" if default in (None, inspect.Parameter.empty) else str(default)


_KINDS: Final[dict[Any, str]] = {int: "N", float: "NUMBER"}
