"""The faults of an implementation with vectors, as changes for the pages of a comparison.

Many vectors fail for one reason. They become one finding that counts them, names the first and has
all places. They are grouped by the keyword of the schema, if there is one; by member, for round
trips and for envelopes, which are the same in all messages; by the message of the implementation,
if it gives one; and as one finding if a whole reader is lenient or drops unknown members.
"""

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import on_one_line
from mcp_protogen.base.printable import summarize_list
from mcp_protogen.base.problems import Level, Problem, ProblemError
from mcp_protogen.instep.vectors.envelope import is_envelope
from mcp_protogen.instep.vectors.outcome import (
    Harm,
    RoundTripLoss,
    VectorResult,
    VectorRun,
    Verdict,
)
from mcp_protogen.instep.vectors.vector import Subject, Vector
from mcp_protogen.pipeline.ir import BOTH, ROLES, Senders
from mcp_protogen.pipeline.reports.change import Comparison, ReportedChange
from mcp_protogen.pipeline.reports.severities import severity_table

_SHOWN = 3
_LONGEST = 60
_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+")
_WHOLESALE = frozenset({"null", "type"})
"""The mistakes that a lenient reader makes everywhere; they are not grouped by place."""
_OPENNESS = frozenset({"additional", "undeclared"})
"""The codes about `additionalProperties` itself, and not about its schema."""

SEVERITIES = severity_table(Path(__file__).with_name("severities.md"))
"""The severities by code. A sender only sees that its peer misbehaves."""


def comparison(outcome: VectorRun) -> Comparison:
    """Return the findings as a comparison of the revision with the implementation.

    Raise `ProblemError` (`nothing-known`) if the implementation knew none of the subjects.
    """
    if all(result.verdict is Verdict.UNKNOWN for result in outcome.results):
        message = f"it has no types or methods of {outcome.revision}"
        hint = "is this the revision that it speaks?"
        raise ProblemError(Problem("nothing-known", message, outcome.implementation, hint=hint))
    notes = tuple(_unknown_subjects(outcome))
    return Comparison(outcome.revision, outcome.implementation, findings(outcome), notes)


def findings(outcome: VectorRun) -> tuple[ReportedChange, ...]:
    """Return all faults of the implementation, in the order of the vectors."""
    groups: dict[Hashable, list[_Fault]] = {}
    for fault in _faults(outcome.results):
        groups.setdefault(fault.group, []).append(fault)
    return tuple(_change(faults) for faults in groups.values())


def item_of(vector: Vector) -> str:
    """Return the subject of a vector in short: `Tool.name`, or a message with a path in it."""
    if not vector.rule:
        return place_in(str(vector.subject), vector.pointer)
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
    code: str
    result: VectorResult
    item: str
    message: str
    before: str
    after: str
    group: Hashable


def _faults(results: Sequence[VectorResult]) -> Iterator[_Fault]:
    refusals = _Refusals(
        {
            result.vector.subject: _reason(result)
            for result in results
            if result.vector.code == "minimal" and result.verdict is Verdict.REFUSED
        }
    )
    for result in results:
        if result.verdict.is_failure:
            yield _failure(result)
        if result.verdict_is_wrong:
            yield refusals.fault(result) if result.vector.valid else _acceptance(result)
        for loss in result.losses:
            yield _loss_fault(result, loss)


def _failure(result: VectorResult) -> _Fault:
    vector, item = result.vector, item_of(result.vector)
    crashed = result.verdict is Verdict.CRASHED
    code = "crashes" if crashed else "hangs"
    message = "the program ends at this value" if crashed else "no answer to this value in time"
    before = "accepted" if vector.valid else "refused"
    # The same last output has one cause, whatever the value; without any, the cause is unknown.
    reason = _reason(result)
    group = (code, reason if ": " in reason else item)
    return _Fault(code, result, item, message, before, result.error, group)


def _reason(result: VectorResult) -> str:
    return _NUMBERS.sub("", result.error)


@dataclass(frozen=True, slots=True)
class _Refusals:
    """The common causes of refusals.

    `mute` are the subjects whose smallest value is refused, too, with the reason that was given.
    """

    mute: Mapping[Subject, str]
    _causes: dict[Hashable, Hashable] = field(default_factory=dict[Hashable, Hashable])

    def fault(self, result: VectorResult) -> _Fault:
        vector, reason = result.vector, _reason(result)
        after = f"refused{f': {result.error}' if result.error else ''}"
        if vector.subject in self.mute:
            item = str(vector.subject)
            message = "refused even if only required members are given"
            cause: Hashable = self.mute[vector.subject] or vector.subject
        else:
            item, message = item_of(vector), f"refused, although {vector.reason}"
            # The same message about one subject has one cause, at any place in the value; so does
            # the same message about one member of any subject with the same code.
            shared = (vector.code, _member(vector.pointer), reason)
            cause = self._causes.setdefault((vector.subject, reason), shared)
            cause = cause if reason else (vector.code, item)
        group = ("refuses-valid", cause)
        return _Fault("refuses-valid", result, item, message, "accepted", after, group)


def _acceptance(result: VectorResult) -> _Fault:
    vector = result.vector
    code, item = "accepts-invalid", item_of(vector)
    place = _member(vector.pointer) if is_envelope(vector, vector.pointer) else item
    group = (code, vector.reason) if vector.code in _WHOLESALE else (code, vector.code, place)
    message = f"accepted, although it is wrong: {vector.reason}"
    return _Fault(code, result, item, message, "refused", "accepted", group)


def _loss_fault(result: VectorResult, loss: RoundTripLoss) -> _Fault:
    vector = result.vector
    code, message = _harm(vector, loss)
    item = place_in(str(vector.subject), loss.pointer)
    before = "absent" if loss.harm is Harm.ADDED else _short_text(loss.before)
    after = "absent" if loss.harm is Harm.LOST else _short_text(loss.after)
    group = code if code in ("loses-undeclared", "loses-null") else (code, _member(loss.pointer))
    return _Fault(code, result, item, message, before, after, group)


def _member(pointer: str) -> str:
    """Return the member at a place, or the one whose item is there."""
    return next((t for t in reversed(jsonpointer.split(pointer)) if not t.isdigit()), "")


def _harm(vector: Vector, loss: RoundTripLoss) -> tuple[str, str]:
    match loss.harm:
        case Harm.ADDED:
            return "adds-member", "written, although it was absent"
        case Harm.CHANGED:
            return "changes-member", "written differently from what was read"
        case Harm.LOST if loss.before is None and not _shows(vector, "type", loss):
            return "loses-null", "left out, although it was present and null"
        case Harm.LOST if _shows(vector, "undeclared", loss):
            return "loses-undeclared", "left out; the schema does not declare this member"
        case _:
            return "loses-member", "left out, although it was present"


def _shows(vector: Vector, code: str, loss: RoundTripLoss) -> bool:
    """Return whether the loss is at the place, and of the kind, that the vector tests."""
    return vector.code == code and vector.pointer == loss.pointer


def _change(faults: Sequence[_Fault]) -> ReportedChange:
    first = faults[0]
    vector = first.result.vector
    row = SEVERITIES[first.code]
    senders: Senders = frozenset(role for fault in faults for role in _senders(fault.result.vector))
    places = tuple(dict.fromkeys(fault.item for fault in faults))
    more = f"; {_listing(len(faults), places)}" if len(faults) > 1 else ""
    sides = first.before, f"{first.after} ({vector.id}{more})"
    levels = row.levels(senders)
    change = row.change(first.item, levels, first.message, sides, vector.rule)
    return replace(change, places=places if len(places) > 1 else ())


def _senders(vector: Vector) -> Senders:
    """Return the senders of the value of a vector: both roles if it is not a message."""
    return frozenset(role for role in ROLES if role == vector.subject.sender) or BOTH


def _listing(number: int, places: Sequence[str]) -> str:
    also = f", also {summarize_list(places[1:], _SHOWN)}" if places[1:] else ""
    return f"{number} vectors{also}"


def _unknown_subjects(outcome: VectorRun) -> Iterator[Problem]:
    """Yield one warning about all subjects that the implementation does not know."""
    subjects = dict.fromkeys(
        str(result.vector.subject)
        for result in outcome.results
        if result.verdict is Verdict.UNKNOWN
    )
    if subjects:
        many = "types and messages are" if len(subjects) > 1 else "type or message is"
        message = f"{len(subjects)} {many} unknown to it: {summarize_list(tuple(subjects), _SHOWN)}"
        yield Problem("unknown-to-target", message, outcome.implementation, level=Level.WARNING)


def place_in(subject: str, pointer: str) -> str:
    """Return a place in the values of a subject in short."""
    path = subject
    for token in jsonpointer.split(pointer):
        path += "[]" if token.isdigit() else f".{token}"
    return path


def _short_text(value: Any) -> str:
    text = on_one_line(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
