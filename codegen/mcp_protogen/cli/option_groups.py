"""Groups of options that several commands share: a dataclass with a field for each option."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar, get_type_hints

T = TypeVar("T")


def with_groups(command: Callable[..., T]) -> Callable[..., T]:
    """Return a command with options in place of its dataclass parameters: one for each field."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    options = {name: [*signature(group).parameters.values()] for name, group in groups.items()}
    return expand_groups(command, options, lambda name, given: groups[name](**given))


def expand_groups(
    command: Callable[..., T],
    groups: Mapping[str, Sequence[Parameter]],
    read: Callable[[str, dict[str, Any]], object],
    last: Container[str] = (),
) -> Callable[..., T]:
    """Return a command with options in place of some parameters; `read` makes the value of one.

    Typer reads options from the parameters of a function, and has no groups.
    """
    declared: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        inside = groups.get(name, [parameter])
        declared += [option.replace(kind=Parameter.KEYWORD_ONLY) for option in inside]
    declared.sort(key=lambda option: option.name in last)

    @wraps(command)
    def run(**given: Any) -> T:
        for name, options in groups.items():
            given[name] = read(name, {option.name: given.pop(option.name) for option in options})
        return command(**given)

    flat: Any = run
    flat.__signature__ = Signature(declared)
    flat.__annotations__ = {option.name: option.annotation for option in declared}
    return run
