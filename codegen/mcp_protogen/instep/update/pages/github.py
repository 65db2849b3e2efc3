"""An outcome as annotations of GitHub Actions, and a summary for the log."""

from collections.abc import Iterator

from mcp_protogen.instep.update.candidates import CandidateState
from mcp_protogen.instep.update.pages import phrases
from mcp_protogen.instep.update.updating import News, UpdateResult
from mcp_protogen.pipeline.reports.pages.github import parts as comparison_parts
from mcp_protogen.pipeline.reports.pages.workflow_commands import (
    Annotation,
    page_lines,
    problem_annotation,
)

_TITLES = {
    CandidateState.MOVED: "schema moved",
    CandidateState.BEHIND: "schema behind its pin",
    CandidateState.NEW: "new schema",
}


def render(outcome: UpdateResult) -> str:
    """Return annotations for each finding, its open decisions, and each change."""
    return "".join(f"{line}\n" for line in page_lines(_parts(outcome)))


def _parts(outcome: UpdateResult) -> Iterator[Annotation | str]:
    # GitHub shows few annotations of each level, so that the most important ones come first.
    if outcome.accepted is None:
        yield from (_headline(outcome, news) for news in outcome.news)
    yield from map(problem_annotation, outcome.notices)
    for news in outcome.news:
        yield from _details(news)
    yield phrases.summary(outcome)


def _headline(outcome: UpdateResult, news: News) -> Annotation:
    finding = news.finding
    message = (
        f"{phrases.headline(finding)}: {phrases.changes(finding)}."
        f" To accept: {phrases.command(outcome, finding)}"
    )
    title = _TITLES.get(finding.candidate.state, "schema")
    return Annotation("warning", title, message)


def _details(news: News) -> Iterator[Annotation | str]:
    finding = news.finding
    for patch, advice in phrases.advice(finding):
        message = f"{patch.pointer}: {advice}"
        file = patch.place.partition("#")[0]
        yield Annotation("warning", f"patch {patch.fit}", message, file)
    yield from map(problem_annotation, (*finding.undecided.wrong, *finding.undecided.open))
    for package in news.packages:
        if package.would_change:
            message = f"{package.folder}: {phrases.effect(package, finding)}"
            yield Annotation("notice", "package to generate again", message)
    if finding.comparison is not None:
        yield from comparison_parts(finding.comparison, None)
