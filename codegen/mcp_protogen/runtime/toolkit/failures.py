"""Failures of functions, and the messages for clients."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from logging import getLogger
from typing import Any, Final

from pydantic import ValidationError

from ..core.errors import InvalidParams, Problem
from ..core.json import json_text
from ..core.json_pointers import ABSENT, steps_of, unescape_step, value_at
from ..core.many_errors import first_problems, problems_within
from ..core.options import has_long_paths
from ..core.sendable import Unsendable
from ..core.spec import Rules

_log: Final = getLogger(__name__)

_LONGEST: Final = 80
_MOST: Final = 20


class ToolError(Exception):
    """A failure whose text becomes the result of the tool, so that the model can react.

    For a prompt or a resource, which have no such results, it becomes the message of an error. The
    text of any other exception only goes to the log, because it may have secrets.
    """


class ResourceNotFound(Exception):
    """The requested resource does not exist; for functions of resource templates."""


class UnfitResult(Exception):

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(f"{at or '/'}: {text}" for at, text in problems))


class NotJsonResult(UnfitResult):
    """A return value with a number that JSON lacks; its text may be shown to clients."""


class BadArguments(Exception):
    """Invalid arguments: the first problems, with a pointer and a message for each."""

    def __init__(
        self, problems: Sequence[Problem], arguments: Any, names: Collection[str] = ()
    ) -> None:
        lines = [
            f"{at or '/'}: {message}{_describe(at, arguments)}{_suggest_name(at, arguments, names)}"
            for at, message in problems[:_MOST]
        ]
        if len(problems) > _MOST:
            lines.append("and more")
        super().__init__("\n".join(lines))
        self._problems = [(f"/params/arguments{at}", text) for at, text in problems[:_MOST]]

    def refusal(self, key: str) -> InvalidParams:
        return InvalidParams(f"Invalid arguments for {key}:\n{self}", self._problems)


def _suggest_name(pointer: str, arguments: Any, names: Collection[str]) -> str:
    name = unescape_step(pointer[1:])
    if "/" in pointer[1:] or name in names:
        return ""
    # An argument that the client also sent is not a misspelling.
    return closest(name, [candidate for candidate in names if candidate not in arguments])


def _describe(pointer: str, arguments: Any) -> str:
    if not pointer:
        return ""
    value = value_at(arguments, steps_of(pointer, arguments))
    if value is ABSENT:
        return ""
    text = json_text(value).decode()
    return f", got {text if len(text) <= _LONGEST else text[:_LONGEST] + '…'}"


def refuse_large(
    arguments: Mapping[str, Any], validate: Callable[[Any], object], names: Collection[str]
) -> None:
    """Raise `BadArguments` for arguments that are too large to be valid."""
    if has_long_paths(arguments):
        raise BadArguments([Problem("", "The names of nested members are too long")], arguments)
    if found := first_problems(arguments, validate, certain=True):
        raise BadArguments(found, arguments, names)


def unfit(error: Exception, value: Any, validate: Callable[[Any], object]) -> UnfitResult:
    if isinstance(error, ValidationError):
        return UnfitResult(problems_within(error, value, "", validate))
    if isinstance(error, Unsendable):
        return NotJsonResult([Problem(error.pointer, error.why)])
    return UnfitResult([Problem("", str(error))])


def explain_failure(tool: str, error: Exception, rules: Rules) -> str:
    """Return the message for a failed tool, and log details; raise `InvalidParams`."""
    match error:
        case BadArguments():
            refusal = error.refusal(tool)
            if rules.bad_arguments != "result":
                raise refusal from None
            return refusal.message
        case ToolError():
            return str(error)
        case NotJsonResult():
            text = f"{tool} returned a value that is not JSON: {error}."
            _log.error("%s", text)
            return text
        case UnfitResult():
            wrong = "returned a value that its"
            _log.error("the tool %s %s schema does not allow: %s", tool, wrong, error)
            return f"{tool} {wrong} output schema does not allow."
        case _:
            _log.exception("the tool %s failed", tool)
            return f"{tool} failed."


def closest(name: str, names: Iterable[str], likeness: float = 0.6) -> str:
    """Return a suggestion to append to a message about an unknown name, or nothing."""
    # A client may send a name of any length, and comparing takes the product of both.
    near = get_close_matches(name, names, 1, likeness) if len(name) <= _LONGEST else []
    return f"; did you mean {near[0]}?" if near else ""
