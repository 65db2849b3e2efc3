"""An outcome as annotations of GitHub Actions, and a summary for the log."""

from collections.abc import Iterator

from mcp_protogen.compare.pages.github import parts as comparison_parts
from mcp_protogen.compare.pages.workflow_commands import Annotation, problem_annotation, written
from mcp_protogen.update.candidates import Standing
from mcp_protogen.update.pages import words
from mcp_protogen.update.updating import News, Outcome

_TITLES = {
    Standing.MOVED: "schema moved",
    Standing.BEHIND: "schema behind its pin",
    Standing.NEW: "new schema",
}


def render(outcome: Outcome) -> str:
    """Return annotations for each finding, its open decisions, and each change."""
    return "".join(f"{line}\n" for line in written(_parts(outcome)))


def _parts(outcome: Outcome) -> Iterator[Annotation | str]:
    # GitHub shows few annotations of each level, so that the most important ones come first.
    if outcome.accepted is None:
        yield from (_headline(outcome, news) for news in outcome.news)
    yield from map(problem_annotation, outcome.notices)
    for news in outcome.news:
        yield from _details(news)
    yield words.summary(outcome)


def _headline(outcome: Outcome, news: News) -> Annotation:
    finding = news.finding
    message = (
        f"{words.headline(finding)}: {words.changes(finding)}."
        f" To accept: {words.command(outcome, finding)}"
    )
    title = _TITLES.get(finding.candidate.standing, "schema")
    return Annotation("warning", title, message)


def _details(news: News) -> Iterator[Annotation | str]:
    finding = news.finding
    for patch, advice in words.advice(finding):
        message = f"{patch.pointer}: {advice}"
        file = patch.place.partition("#")[0]
        yield Annotation("warning", f"patch {patch.fit}", message, file)
    yield from map(problem_annotation, (*finding.undecided.wrong, *finding.undecided.open))
    for package in news.packages:
        if package.would_change:
            message = f"{package.folder}: {words.effect(package, finding)}"
            yield Annotation("notice", "package to generate again", message)
    if finding.comparison is not None:
        yield from comparison_parts(finding.comparison, None)
