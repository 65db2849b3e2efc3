"""The responder protocol: questions about vectors to an implementation in any language.

It has JSON lines, one answer to each line, in order; docs/vectors.md describes it. This module
reads and writes lines, and starts no process.
"""

import json
from dataclasses import dataclass
from typing import Any, Never

from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.printable import safe_line
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.instep.vectors.outcome import ResponderAnswer, Verdict
from mcp_protogen.instep.vectors.vector import Subject, Vector

FORMAT = 1
ANSWERS = (Verdict.ACCEPTED, Verdict.REFUSED, Verdict.UNKNOWN)
"""The possible verdicts of an answer; the other verdicts are for missing answers."""
LONGEST_LINE = 16 * 2**20
APART = "apart"
"""The value for the envelope of messages of a program that does not keep it."""
_SHOWN = 200
_PRINTS = "only answers go to standard output; print everything else to standard error"


@dataclass(frozen=True, slots=True)
class Introduction:
    """The name of a responder, and whether it works without the envelopes of messages."""

    name: str
    envelope_apart: bool


def hello(revision: str, extension: str = "") -> bytes:
    """Return the first line: the protocol, and the revision and extension of the vectors."""
    of_extension = {"extension": extension} if extension else {}
    return _line({"responder": FORMAT, "revision": revision, **of_extension})


def question(vector: Vector) -> bytes:
    """Return the line about a vector: everything except whether it is valid."""
    return _line({"id": vector.id, **subject_members(vector.subject), "value": vector.value})


def subject_members(subject: Subject) -> dict[str, str]:
    """Return a subject as members of a JSON object."""
    if subject.type:
        return {"type": subject.type}
    return {"method": subject.method, "kind": subject.kind, "sender": subject.sender}


def read_hello(line: bytes, place: str) -> Introduction:
    """Return the introduction of the responder.

    Raise `ProblemError`: `bad-answer`, or `responder-refuses` if it gives a reason.
    """
    answer = _object(line, place, "the hello")
    if answer.get("responder") != FORMAT:
        hint = f'its first line must be {{"responder": {FORMAT}, "name": "..."}}; {_PRINTS}'
        raise ProblemError(
            Problem("bad-answer", f"the answer to the hello is {_short(line)}", place, hint=hint)
        )
    if "error" in answer:
        message = f"it refuses vectors: {safe_line(str(answer['error'])):.500}"
        raise ProblemError(Problem("responder-refuses", message, place))
    if answer.get("envelope", APART) != APART:
        hint = f'write "{APART}" if the program does not keep the envelope; else leave it out'
        message = f"the answer to the hello has the envelope {answer['envelope']!r:.200}"
        raise ProblemError(Problem("bad-answer", message, place, hint=hint))
    name = answer.get("name")
    called = safe_line(name)[:_SHOWN] if isinstance(name, str) and name else place
    return Introduction(called, "envelope" in answer)


def read_answer(line: bytes, vector: Vector, place: str) -> ResponderAnswer:
    """Return the answer to a vector; raise `ProblemError` (`bad-answer`)."""
    answer = _object(line, place, vector.id)
    if answer.get("id") != vector.id:
        hint = "answer each line with the same id before you read the next one"
        message = f"the answer to {vector.id} has the id {answer.get('id')!r:.200}"
        raise ProblemError(Problem("bad-answer", message, place, hint=hint))
    verdict = next((candidate for candidate in ANSWERS if candidate == answer.get("verdict")), None)
    if verdict is None:
        hint = f"the verdict is one of {', '.join(ANSWERS)}"
        message = f"the answer to {vector.id} has the verdict {answer.get('verdict')!r:.200}"
        raise ProblemError(Problem("bad-answer", message, place, hint=hint))
    written = (answer["value"],) if verdict is Verdict.ACCEPTED and "value" in answer else ()
    error = safe_line(" ".join(str(answer.get("error", "")).split()))
    return ResponderAnswer(verdict, error[:_SHOWN], written)


def _object(line: bytes, place: str, about: str) -> dict[str, Any]:
    try:
        answer = parse_json(line, place)
    except ProblemError:
        _refuse(line, place, about)
    return answer if is_object(answer) else _refuse(line, place, about)


def _refuse(line: bytes, place: str, about: str) -> Never:
    message = f"the answer to {about} is {_short(line)}, which is not a JSON object"
    raise ProblemError(Problem("bad-answer", message, place, hint=_PRINTS)) from None


def _short(line: bytes) -> str:
    text = line.decode(errors="replace").rstrip("\r\n")
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
