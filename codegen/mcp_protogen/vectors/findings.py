"""What an implementation does wrong with vectors, as changes that the pages of a comparison show.

Many vectors fail for one reason. Unless they are wanted one by one, they become one finding that
counts them, names the first and has all places: by keyword of the schema where it is about one, by
member for what round trips do and for envelopes, which are the same in all messages, by what the
implementation says where it says why, as one altogether where a whole reader is lenient or drops
what it does not know.
"""

import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_protogen import jsonpointer
from mcp_protogen.compare.change import Category, Change, Comparison
from mcp_protogen.problems import Level, Problem, ProblemError
from mcp_protogen.vectors.envelope import is_envelope
from mcp_protogen.vectors.outcome import Harm, Loss, Outcome, Result, Verdict
from mcp_protogen.vectors.severities import severities, why
from mcp_protogen.vectors.vector import Subject, Vector

_SHOWN = 3
_LONGEST = 60
_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+")
_WHOLESALE = frozenset({"null", "type"})
"""What a lenient reader accepts everywhere: these are grouped by the mistake, not by the place."""
_OPENNESS = frozenset({"additional", "undeclared"})
"""What is about the keyword `additionalProperties` itself, and not about what it rules."""
_OTHER = {"client": "server", "server": "client"}


def comparison(outcome: Outcome) -> Comparison:
    """The findings as a comparison of the revision with the implementation.

    Raises `ProblemError` (`nothing-known`) where the implementation knew nothing it was asked.
    """
    if all(result.verdict is Verdict.UNKNOWN for result in outcome.results):
        message = f"it knows no type and no method of {outcome.revision}"
        hint = "is this the revision that it speaks?"
        raise ProblemError(Problem("nothing-known", message, outcome.target, hint=hint))
    notes = tuple(_unknown(outcome))
    return Comparison(outcome.revision, outcome.target, findings(outcome), notes)


def findings(outcome: Outcome, *, grouped: bool = True) -> tuple[Change, ...]:
    """Everything the implementation did wrong, in the order of the vectors."""
    groups: dict[Hashable, list[_Fault]] = {}
    for fault in _faults(outcome.results):
        groups.setdefault(fault.group if grouped else fault, []).append(fault)
    return tuple(_change(faults) for faults in groups.values())


def item_of(vector: Vector) -> str:
    """What a vector is about, in short: `Tool.name`, or a message with the path inside it."""
    if not vector.rule:
        return _path(str(vector.subject), vector.pointer)
    _, path, *keywords = jsonpointer.split(vector.rule)
    rest = iter(keywords)
    for keyword in rest:
        if keyword == "properties":
            path += f".{next(rest)}"
        elif keyword == "items":
            path += "[]"
        elif keyword == "additionalProperties" and vector.code not in _OPENNESS:
            path += ".*"
    if vector.code == "required":
        path += f".{jsonpointer.split(vector.pointer)[-1]}"
    return path


@dataclass(frozen=True, slots=True, eq=False)
class _Fault:
    """One thing that went wrong with one vector."""

    code: str
    result: Result
    item: str
    message: str
    before: str
    after: str
    group: Hashable


def _faults(results: Sequence[Result]) -> Iterator[_Fault]:
    refusals = _Refusals(
        {
            result.vector.subject: _words(result)
            for result in results
            if result.vector.code == "minimal" and result.verdict is Verdict.REFUSED
        }
    )
    for result in results:
        if result.verdict.is_failure:
            yield _failed(result)
        if result.verdict_is_wrong:
            yield refusals.fault(result) if result.vector.valid else _accepted(result)
        for loss in result.losses:
            yield _lost(result, loss)


def _failed(result: Result) -> _Fault:
    vector, item = result.vector, item_of(result.vector)
    crashed = result.verdict is Verdict.CRASHED
    code = "crashes" if crashed else "hangs"
    message = "the program ends over this value" if crashed else "no answer to this value in time"
    before = "accepted" if vector.valid else "refused"
    # The same last words have one cause, whatever the value; without any they tell nothing.
    words = _words(result)
    group = (code, words if ": " in words else item)
    return _Fault(code, result, item, message, before, result.error, group)


def _words(result: Result) -> str:
    return _NUMBERS.sub("", result.error)


@dataclass(frozen=True, slots=True)
class _Refusals:
    """Finds what refusals have in common.

    `mute` are the subjects of which even the smallest value is refused, with the words for that.
    """

    mute: Mapping[Subject, str]
    _causes: dict[Hashable, Hashable] = field(default_factory=dict[Hashable, Hashable])

    def fault(self, result: Result) -> _Fault:
        """What is wrong with refusing a valid value."""
        vector, words = result.vector, _words(result)
        after = f"refused{f': {result.error}' if result.error else ''}"
        if vector.subject in self.mute:
            item = str(vector.subject)
            message = "refused even where nothing is given but what is required"
            cause: Hashable = self.mute[vector.subject] or vector.subject
        else:
            item, message = item_of(vector), f"refused, though {vector.reason}"
            # The same words about one subject have one cause, wherever in the value it shows; so
            # have those about one member of any subject, for the same reason.
            shared = (vector.code, _member(vector.pointer), words)
            cause = self._causes.setdefault((vector.subject, words), shared)
            cause = cause if words else (vector.code, item)
        group = ("refuses-valid", cause)
        return _Fault("refuses-valid", result, item, message, "accepted", after, group)


def _accepted(result: Result) -> _Fault:
    vector = result.vector
    code, item = "accepts-invalid", item_of(vector)
    place = _member(vector.pointer) if is_envelope(vector, vector.pointer) else item
    group = (code, vector.reason) if vector.code in _WHOLESALE else (code, vector.code, place)
    message = f"accepted, though it is wrong: {vector.reason}"
    return _Fault(code, result, item, message, "refused", "accepted", group)


def _lost(result: Result, loss: Loss) -> _Fault:
    vector = result.vector
    code, message = _harm(vector, loss)
    item = _path(str(vector.subject), loss.pointer)
    before = "absent" if loss.harm is Harm.ADDED else _shown(loss.before)
    after = "absent" if loss.harm is Harm.LOST else _shown(loss.after)
    group = code if code in ("loses-undeclared", "loses-null") else (code, _member(loss.pointer))
    return _Fault(code, result, item, message, before, after, group)


def _member(pointer: str) -> str:
    """The member that a place is, or is an item of."""
    return next((t for t in reversed(jsonpointer.split(pointer)) if not t.isdigit()), "")


def _harm(vector: Vector, loss: Loss) -> tuple[str, str]:
    match loss.harm:
        case Harm.ADDED:
            return "adds-member", "written, though it was not there"
        case Harm.CHANGED:
            return "changes-member", "written differently from what was read"
        case Harm.LOST if loss.before is None and not _shows(vector, "type", loss):
            return "loses-null", "left out, though it was there and null"
        case Harm.LOST if _shows(vector, "undeclared", loss):
            return "loses-undeclared", "left out, a member that the schema does not declare"
        case _:
            return "loses-member", "left out, though it was there"


def _shows(vector: Vector, code: str, loss: Loss) -> bool:
    """Whether what is lost is what the vector is there to show."""
    return vector.code == code and vector.pointer == loss.pointer


def _change(faults: Sequence[_Fault]) -> Change:
    first = faults[0]
    vector = first.result.vector
    receivers = {_OTHER.get(fault.result.vector.subject.sender, "") for fault in faults}
    places = tuple(dict.fromkeys(fault.item for fault in faults))
    more = f"; {_listing(len(faults), places)}" if len(faults) > 1 else ""
    return Change(
        code=first.code,
        category=Category.BEHAVIOUR,
        item=first.item,
        message=first.message,
        severity=severities(first.code, receivers.pop() if len(receivers) == 1 else ""),
        pointer=vector.rule,
        before=first.before,
        after=f"{first.after} ({vector.id}{more})",
        why=why(first.code),
        places=places if len(places) > 1 else (),
    )


def _listing(number: int, places: Sequence[str]) -> str:
    _, *others = places
    text = f"{number} vectors"
    if others:
        rest = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        text += f", also {', '.join(others[:_SHOWN])}{rest}"
    return text


def _unknown(outcome: Outcome) -> Iterator[Problem]:
    """One warning about everything the implementation does not know."""
    subjects = dict.fromkeys(
        str(result.vector.subject)
        for result in outcome.results
        if result.verdict is Verdict.UNKNOWN
    )
    if subjects:
        rest = f" and {len(subjects) - _SHOWN} more" if len(subjects) > _SHOWN else ""
        many = "types and messages are" if len(subjects) > 1 else "type or message is"
        message = f"{len(subjects)} {many} unknown to it: {_first(subjects)}{rest}"
        yield Problem("unknown-to-target", message, outcome.target, level=Level.WARNING)


def _first(names: Iterable[str]) -> str:
    return ", ".join(list(names)[:_SHOWN])


def _path(subject: str, pointer: str) -> str:
    path = subject
    for token in jsonpointer.split(pointer):
        path += "[]" if token.isdigit() else f".{token}"
    return path


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
