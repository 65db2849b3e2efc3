"""Groups of options that several commands share: a dataclass with a field for each option."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar, get_type_hints

T = TypeVar("T")


def with_groups(command: Callable[..., T]) -> Callable[..., T]:
    """Return a command with options in place of its dataclass parameters: one for each field.

    Typer reads options from the parameters of a function, and has no groups.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    declared: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        inside = signature(groups[name]).parameters.values() if name in groups else [parameter]
        declared += [option.replace(kind=Parameter.KEYWORD_ONLY) for option in inside]

    @wraps(command)
    def run(**given: Any) -> T:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        return command(**given)

    flat: Any = run
    flat.__signature__ = Signature(declared)
    flat.__annotations__ = {option.name: option.annotation for option in declared}
    return run
