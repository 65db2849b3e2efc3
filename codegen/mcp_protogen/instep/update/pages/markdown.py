"""An outcome in Markdown, as the text of an issue or a pull request."""

from collections.abc import Iterator, Sequence

from mcp_protogen.base.printable import safe_line
from mcp_protogen.base.problems import Level, summarize_problems
from mcp_protogen.instep.update.findings import Finding
from mcp_protogen.instep.update.pages import phrases
from mcp_protogen.instep.update.updating import News, UpdateResult
from mcp_protogen.pipeline.reports.pages import PageFormat
from mcp_protogen.pipeline.reports.pages import markdown as comparison_page
from mcp_protogen.pipeline.reports.pages import render as render_comparison


def render(outcome: UpdateResult) -> str:
    """Return the summary, and a section for each finding."""
    return "".join(f"{line}\n" for line in _lines(outcome))


def _lines(outcome: UpdateResult) -> Iterator[str]:
    yield f"{_prose(phrases.summary(outcome))}."
    for notice in outcome.notices:
        yield ""
        yield f"> {_prose(phrases.problem(notice))}"
    for news in outcome.news:
        yield ""
        yield from _section(outcome, news)


def _section(outcome: UpdateResult, news: News) -> Iterator[str]:
    finding = news.finding
    yield f"# {_prose(phrases.headline(finding))}"
    yield ""
    yield f"- pinned: {_prose(phrases.describe_pin(finding))}"
    yield f"- found: {_prose(phrases.describe_candidate(finding.candidate))}"
    yield f"- changes: {_prose(phrases.changes(finding))}"
    yield f"- sha256: {_code(finding.candidate.sha256)}"
    if outcome.accepted is None:
        yield f"- to accept: {_code(phrases.command(outcome, finding))}"
    if finding.comparison is not None and finding.comparison.changes:
        yield ""
        yield render_comparison(PageFormat.MARKDOWN, finding.comparison).rstrip("\n")
    yield from _next_steps(finding)
    if news.packages:
        lines = [
            f"{_code(package.folder)}: {_prose(phrases.effect(package, finding))}"
            for package in news.packages
        ]
        yield from _list("Packages", lines)


def _next_steps(finding: Finding) -> Iterator[str]:
    if finding.patches:
        advice = [
            f"{_code(patch.place)}, {_code(patch.pointer)}: {_prose(text)}"
            for patch, text in phrases.advice(finding)
        ]
        yield from _list(f"Patches: {phrases.patches(finding)}", advice)
    if finding.undecided.wrong:
        wrong = [_prose(phrases.problem(problem)) for problem in finding.undecided.wrong]
        yield from _list("Nothing can be generated from this schema", wrong)
    if finding.undecided.open:
        yield from _list("To decide", ())
        for _, (first, *more) in summarize_problems(finding.undecided.open, {*Level}):
            yield f"- {_prose(first)}"
            yield from (f"  - {_prose(line.strip())}" for line in more)


def _list(heading: str, texts: Sequence[str]) -> Iterator[str]:
    yield ""
    yield f"## {heading}"
    yield ""
    yield from (f"- {text}" for text in texts[: phrases.MOST_SHOWN])
    if len(texts) > phrases.MOST_SHOWN:
        yield f"- and {len(texts) - phrases.MOST_SHOWN} more"


def _prose(text: str) -> str:
    return comparison_page.prose(safe_line(text))


def _code(text: str) -> str:
    return comparison_page.code(safe_line(text))
