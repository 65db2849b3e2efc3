"""The reactions of an SDK to vectors, without the faults that its types show already.

The item of a finding must stay the same from run to run, because baselines identify findings by it.
So it has only terms of the schema, never texts of a vector.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mcp_protogen.base.jsonpointer import get, split
from mcp_protogen.base.jsonvalue import is_array, is_object, json_type
from mcp_protogen.base.printable import summarize_list
from mcp_protogen.instep.audit.known import KnownGaps
from mcp_protogen.instep.vectors.envelope import envelope_of, is_envelope
from mcp_protogen.instep.vectors.making import make
from mcp_protogen.instep.vectors.outcome import (
    Harm,
    RoundTripLoss,
    VectorResult,
    VectorRun,
    Verdict,
)
from mcp_protogen.instep.vectors.outcome_changes import SEVERITIES, findings, item_of, place_in
from mcp_protogen.instep.vectors.running import run_vectors
from mcp_protogen.instep.vectors.vector import Vector
from mcp_protogen.pipeline.ir import BOTH
from mcp_protogen.pipeline.reports.change import ReportedChange

_SHOWN_BY_TYPES = frozenset({"loses-undeclared"})
"""The findings that the types show, once for all of them."""
_SHOWN = 5

_Group = dict[str, list[VectorResult]]


@dataclass(slots=True)
class _SortedAnswers:
    """Answers, sorted by their faults.

    `lenient` are grouped by mistake, `accepted` by place and keyword, `needed` by the required
    member whose null is lost; `rest` are those for the usual findings of vectors. `dropped` are the
    places of undeclared members that are lost with any value, so that null is nothing special
    there. `refused` are mistakes that a definition refuses in values of its own.
    """

    dropped: frozenset[tuple[str, str]]
    refused: frozenset[tuple[str, str]]
    lenient: _Group = field(default_factory=_Group)
    accepted: _Group = field(default_factory=_Group)
    needed: _Group = field(default_factory=_Group)
    rest: list[VectorResult] = field(default_factory=list[VectorResult])


def behaviour(
    command: Sequence[str], subjects: Collection[str], known: KnownGaps, timeout: float
) -> tuple[ReportedChange, ...]:
    """Return the findings of running the vectors of subjects against a responder."""
    wanted = known.wanted
    vectors = make(wanted.ir.id, None, wanted.extension)
    outcome = run_vectors(command, vectors, timeout=timeout, known=subjects)
    found = _SortedAnswers(dropped=_find_dropped_members(outcome), refused=_find_refusals(outcome))
    for result in outcome.results:
        _sort(result, known, found)
    ordinary = [c for c in _findings(outcome, found.rest) if c.code not in _SHOWN_BY_TYPES]
    lost = [change for results in found.needed.values() for change in _findings(outcome, results)]
    return (
        *(
            _merge_accepted(
                mistake, results, [_place(result.vector, known, found) for result in results]
            )
            for mistake, results in found.lenient.items()
        ),
        *(
            replace(change, item=item, places=())
            for item, results in found.accepted.items()
            for change in _findings(outcome, results)
        ),
        *(_null_loss(change) for change in lost),
        *(replace(c, item="null") if c.code == "loses-null" else c for c in ordinary),
    )


def _sort(result: VectorResult, known: KnownGaps, found: _SortedAnswers) -> None:
    vector = result.vector
    if result.verdict_is_wrong and vector.valid and str(vector.subject) in known.refusing:
        return
    if result.verdict_is_wrong and not vector.valid:
        if known.leniency(vector):
            return
        mistake = _mistake(vector, known.wanted.schema)
        group = found.lenient if mistake else found.accepted
        item = f"{_place(vector, known, found)} {vector.code}"
        group.setdefault(mistake or item, []).append(result)
        return
    ordinary: list[RoundTripLoss] = []
    for loss in result.losses:
        is_null = loss.harm is Harm.LOST and loss.before is None
        if is_null and known.needs(vector.subject, loss.pointer):
            found.needed.setdefault(split(loss.pointer)[-1], []).append(_only(result, loss))
        elif is_null and (str(vector.subject), loss.pointer) in found.dropped:
            continue
        elif not known.is_unseen(vector.subject, loss.pointer):
            ordinary.append(loss)
    found.rest.append(_only(result, *ordinary))


def _find_refusals(outcome: VectorRun) -> frozenset[tuple[str, str]]:
    """Return the mistakes that a definition always refuses in values of its own."""
    alone = [
        result
        for result in outcome.results
        if not result.vector.valid and result.vector.subject.type == _definition(result.vector)
    ]
    refused = {_mistake_of(r.vector) for r in alone if r.verdict is Verdict.REFUSED}
    return frozenset(refused - {_mistake_of(r.vector) for r in alone if r.verdict_is_wrong})


def _definition(vector: Vector) -> str:
    return split(vector.rule)[1] if vector.rule else ""


def _mistake_of(vector: Vector) -> tuple[str, str]:
    return vector.rule, vector.reason


def _place(vector: Vector, known: KnownGaps, found: _SortedAnswers) -> str:
    """Return the place of a mistake: the member that contains it, if its definition refuses it."""
    if _mistake_of(vector) not in found.refused:
        return item_of(vector)
    subject = str(vector.subject)
    if is_envelope(vector, vector.pointer) and is_object(vector.value):
        subject = envelope_of(vector, known.wanted.schema["$defs"])
    return place_in(subject, vector.pointer)


def _find_dropped_members(outcome: VectorRun) -> frozenset[tuple[str, str]]:
    return frozenset(
        (str(result.vector.subject), loss.pointer)
        for result in outcome.results
        for loss in result.losses
        if result.vector.code == "undeclared" and loss.before is not None
    )


def _findings(outcome: VectorRun, results: Sequence[VectorResult]) -> tuple[ReportedChange, ...]:
    return findings(replace(outcome, results=tuple(results)))


def _only(result: VectorResult, *losses: RoundTripLoss) -> VectorResult:
    return replace(result, losses=losses)


def _mistake(vector: Vector, schema: dict[str, Any]) -> str:
    """Return the mistake of a lenient reader, which is the same at every place; or nothing.

    `X | None = None` is the usual way in Python to make a member optional, and many libraries read
    numbers from strings.
    """
    if vector.code == "null":
        return "null" if _is_member(vector.pointer) else ""
    if vector.code != "type":
        return ""
    said: Any = get(schema, vector.rule)
    # The mistake is the same whether or not null is allowed.
    wanted = sorted(set(said) - {"null"}) if is_array(said) else [str(said)]
    return f"{json_type(get(vector.value, vector.pointer))} for {' or '.join(wanted)}"


def _is_member(pointer: str) -> bool:
    return bool(pointer) and not pointer.rsplit("/", 1)[-1].isdigit()


def _null_loss(change: ReportedChange) -> ReportedChange:
    row = SEVERITIES["loses-member"]
    message = "left out if it is null, although it is required"
    severity = row.levels(BOTH)
    return replace(change, code="loses-member", message=message, severity=severity, why=row.why)


def _merge_accepted(
    mistake: str, results: Sequence[VectorResult], places: Iterable[str]
) -> ReportedChange:
    """Return one finding for a mistake that is accepted in many places."""
    others = sorted(set(places))
    row, number = SEVERITIES["accepts-invalid"], f"{len(results)} vectors"
    after = f"accepted in {summarize_list(others, _SHOWN)} ({number}, {results[0].vector.id})"
    change = row.change(mistake, row.levels(BOTH), "accepted", ("refused", after))
    return replace(change, places=tuple(others) if len(others) > 1 else ())
