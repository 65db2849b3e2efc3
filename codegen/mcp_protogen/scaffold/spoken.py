"""Which revisions a project speaks, and in which of them its code is written."""

from collections.abc import Iterable, Iterator

from mcp_protogen.problems import Problem, ProblemError
from mcp_protogen.resources import schema_folder
from mcp_protogen.scaffold.choices import ALL
from mcp_protogen.store import facts
from mcp_protogen.store.pins import load_pins
from mcp_protogen.suggest import did_you_mean


def usual() -> tuple[str, ...]:
    """The revisions of a project when nobody says otherwise, first the one to write in."""
    folder = schema_folder()
    newest = facts.load(folder, facts.known(folder)[-1]).document
    return tuple(newest["projects"]["revisions"])


def spoken(asked: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """The revision to write in, and all to speak, from names and lists of names with commas.

    The first name is the one to write in; "all" stands for the usual one and all others. Raises
    `ProblemError` (`no-revision`, `unknown-revision`).
    """
    names = [name for text in asked for name in _names(text)]
    if not names:
        raise ProblemError(Problem("no-revision", "no revision is asked for", hint="name one"))
    pins = load_pins()
    unknown = [name for name in names if name not in pins and name != ALL]
    if unknown:
        raise ProblemError(*(_unknown(name, pins) for name in dict.fromkeys(unknown)))
    every = {*pins} if ALL in names else {*names}
    return usual()[0] if names[0] == ALL else names[0], tuple(sorted(every))


def _names(text: str) -> Iterator[str]:
    return filter(None, map(str.strip, text.split(",")))


def _unknown(name: str, pins: Iterable[str]) -> Problem:
    message = f"no schema is pinned for {name!r:.80}"
    return Problem("unknown-revision", message, hint=did_you_mean(name, pins))
