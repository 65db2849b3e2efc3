"""A trial of an implementation with test vectors: the user's request in, the findings out."""

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mcp_protogen.base.option_constraints import conflict
from mcp_protogen.base.printable import safe_line
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.instep.audit.run_audit import responder_command
from mcp_protogen.instep.vectors.making import make, select_sources
from mcp_protogen.instep.vectors.named_vectors import NamedVectors
from mcp_protogen.instep.vectors.outcome import VectorRun
from mcp_protogen.instep.vectors.outcome_changes import comparison
from mcp_protogen.instep.vectors.running import run_vectors
from mcp_protogen.instep.vectors.vector import VectorFilter
from mcp_protogen.pipeline.reports.findings import FindingOptions
from mcp_protogen.pipeline.reports.pages import PageFormat
from mcp_protogen.pipeline.reports.view import FindingsPage, View


@dataclass(frozen=True, slots=True)
class TriedProgram:
    """The implementation to try: a name in Python, or a command; `timeout` in seconds."""

    name: str | None
    command: str | None
    python: str | None
    timeout: float

    def words(self, revision: str, extension: str) -> Sequence[str]:
        """Return the command line to run; raise `ProblemError` (`responder-not-started`)."""
        if self.name is not None:
            return responder_command(self.name, revision, extension, python=self.python)
        try:
            arguments = shlex.split(self.command or "")
        except ValueError as error:
            arguments, reason = [], f"{error}".lower()
        else:
            reason = "it is empty"
        if not arguments:
            message = f"the command cannot be read: {reason}"
            raise ProblemError(Problem("responder-not-started", message, self.command or ""))
        return arguments


def trial_page(
    named: NamedVectors, choice: VectorFilter, program: TriedProgram, view: View
) -> FindingsPage:
    """Try an implementation with vectors, and return the page of its faults."""
    options = named.options(usual=True)
    (revision, extension), *more = select_sources(options)
    if more:
        raise conflict("name one revision or extension: each run tries an implementation with one")
    chosen = choice.of(make(revision, options, extension))
    outcome = run_vectors(program.words(revision, extension), chosen, timeout=program.timeout)
    page = FindingOptions("finding").sort(comparison(outcome)).page(view)
    closing = f"{safe_line(_counts(outcome))}\n" if view.format == PageFormat.TEXT else ""
    return replace(page, text=page.text + closing)


def _counts(outcome: VectorRun) -> str:
    counts = Counter(result.verdict.value for result in outcome.results)
    listed = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    return (
        f"{outcome.implementation}: {len(outcome.results)} vectors of {outcome.revision}: {listed}"
    )
