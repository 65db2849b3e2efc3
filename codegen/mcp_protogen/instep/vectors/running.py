"""Questions about vectors to an implementation, which is a separate program.

Each line gets one line as its answer: the program never has more than one question, so that no pipe
can fill up. Each answer has a time limit. If the program ends or is silent at a value, this is the
finding, and the program is started again for the next value.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.instep.vectors import responder_protocol as protocol
from mcp_protogen.instep.vectors.envelope import KEPT_APART, is_envelope
from mcp_protogen.instep.vectors.outcome import VectorResult, VectorRun, Verdict, losses
from mcp_protogen.instep.vectors.program import Program, Start, run, start_program
from mcp_protogen.instep.vectors.vector import Vector, VectorSet

_PATIENCE = 10
"""The number of failures in a row after which a program is not asked again."""


def run_vectors(
    command: Sequence[str],
    vectors: VectorSet,
    *,
    timeout: float = 10.0,
    cwd: Path | None = None,
    known: Collection[str] | None = None,
) -> VectorRun:
    """Ask the program that `command` starts about each vector, or about those of `known` subjects.

    `timeout` is in seconds, for each answer. Raise `ProblemError`: `responder-not-started`,
    `responder-silent`, `responder-ended`, `responder-refuses` or `bad-answer`.
    """
    start = Start(tuple(command), cwd, protocol.LONGEST_LINE)
    results: list[VectorResult] = []
    name = run(_ask_all(start, vectors, timeout, known, results))
    return VectorRun(vectors.title, name, tuple(results))


async def _ask_all(
    start: Start,
    vectors: VectorSet,
    timeout: float,
    known: Collection[str] | None,
    results: list[VectorResult],
) -> str:
    """Append the results to `results`; return the name of the implementation."""
    said: protocol.Introduction | None = None
    while said is None or len(results) < len(vectors.vectors):
        try:
            async with start_program(start) as program:
                responder = _Responder(program, start.place, timeout)
                said = await responder.greet(vectors)
                for vector in vectors.vectors[len(results) :]:
                    if known is not None and str(vector.subject) not in known:
                        results.append(VectorResult(vector, Verdict.UNKNOWN))
                        continue
                    result = await responder.result(vector)
                    results.append(_without_envelope(result) if said.envelope_apart else result)
        except _NoAnswerError as error:
            results.append(VectorResult(vectors.vectors[len(results)], error.verdict, error.how))
            if _is_hopeless(results):
                raise ProblemError(error.problem) from None
    return said.name


def _without_envelope(result: VectorResult) -> VectorResult:
    """Return a result without the faults of a part that reads envelopes."""
    vector = result.vector
    if not vector.valid and is_envelope(vector, vector.pointer):
        vector = replace(vector, tolerated=KEPT_APART)
    kept = tuple(loss for loss in result.losses if not is_envelope(vector, loss.pointer))
    return replace(result, vector=vector, losses=kept)


def _is_hopeless(results: Sequence[VectorResult]) -> bool:
    """Return whether it is useless to continue, after too many failures or a silent start."""
    if len(results) == 1 and results[0].verdict is Verdict.HUNG:
        return True
    last = results[-_PATIENCE:]
    return len(last) == _PATIENCE and all(result.verdict.is_failure for result in last)


class _NoAnswerError(Exception):
    """Raised if a program ended or was silent when an answer was due."""

    def __init__(self, verdict: Verdict, how: str, problem: Problem) -> None:
        super().__init__(how)
        self.verdict = verdict
        self.how = how
        self.problem = problem


@dataclass(frozen=True, slots=True)
class _Responder:
    """A program that speaks the responder protocol."""

    program: Program
    place: str
    timeout: float

    async def greet(self, vectors: VectorSet) -> protocol.Introduction:
        """Return the program's introduction; raise `ProblemError` if it does not answer."""
        try:
            line = await self._ask(protocol.hello(vectors.revision, vectors.extension), "the hello")
        except _NoAnswerError as error:
            raise ProblemError(error.problem) from None
        return protocol.read_hello(line, self.place)

    async def result(self, vector: Vector) -> VectorResult:
        """Return the answer to a vector; raise `_NoAnswerError`."""
        line = await self._ask(protocol.question(vector), vector.id)
        answer = protocol.read_answer(line, vector, self.place)
        harm = [
            loss
            for written in answer.written
            if vector.valid and answer.verdict is Verdict.ACCEPTED
            for loss in losses(vector.value, written)
        ]
        harm.sort(key=lambda loss: loss.pointer)
        return VectorResult(vector, answer.verdict, answer.error, tuple(harm))

    async def _ask(self, line: bytes, about: str) -> bytes:
        try:
            async with asyncio.timeout(self.timeout):
                return await self.program.answer(line)
        except TimeoutError:
            raise self._silent(about) from None
        except asyncio.LimitOverrunError:
            limit = protocol.LONGEST_LINE // 2**20
            message = f"the answer to {about} is longer than {limit} MiB"
            raise ProblemError(Problem("bad-answer", message, self.place)) from None
        except asyncio.IncompleteReadError:
            raise await self._end_error(about) from None

    def _silent(self, about: str) -> _NoAnswerError:
        how = f"no answer within {self.timeout:g} seconds"
        message = f"no answer to {about} within {self.timeout:g} seconds"
        hint = self._last_line() or "does it flush its output after each line?"
        problem = Problem("responder-silent", message, self.place, hint=hint)
        return _NoAnswerError(Verdict.HUNG, how, problem)

    async def _end_error(self, about: str) -> _NoAnswerError:
        how = await self.program.ending()
        message = f"it {how} before it answered {about}"
        hint = self._last_line() or "it must answer each line until standard input ends"
        problem = Problem("responder-ended", message, self.place, hint=hint)
        line = self.program.last_line()
        return _NoAnswerError(Verdict.CRASHED, f"{how}: {line}" if line else how, problem)

    def _last_line(self) -> str:
        line = self.program.last_line()
        return f"its last line on standard error: {line}" if line else ""
