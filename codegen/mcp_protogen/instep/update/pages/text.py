"""An outcome as text for a terminal: each finding with its changes and open decisions."""

from collections.abc import Iterator, Sequence

from mcp_protogen.base.colours import Colour, paint
from mcp_protogen.base.printable import pluralize, safe_line
from mcp_protogen.base.problems import Level, summarize_problems
from mcp_protogen.instep.update.findings import Finding
from mcp_protogen.instep.update.pages import phrases
from mcp_protogen.instep.update.updating import News, UpdateResult
from mcp_protogen.pipeline.reports.pages import PageFormat
from mcp_protogen.pipeline.reports.pages import render as render_comparison


def render(outcome: UpdateResult, *, colour: bool) -> str:
    """Return the outcome as lines; the summary is at the end, or before the work that is left."""
    return "".join(f"{line}\n" for line in _lines(outcome, colour))


def _lines(outcome: UpdateResult, colour: bool) -> Iterator[str]:
    summary = safe_line(phrases.summary(outcome))
    if outcome.accepted is not None:
        yield summary
        for news in outcome.news:
            yield from _remaining_work(news)
        return
    for news in outcome.news:
        yield from _news_lines(outcome, news, colour)
    yield summary


def _news_lines(outcome: UpdateResult, news: News, colour: bool) -> Iterator[str]:
    finding = news.finding
    yield paint(Colour.BOLD, safe_line(phrases.headline(finding)), on=colour)
    yield f"  pinned   {safe_line(phrases.describe_pin(finding))}"
    yield f"  found    {safe_line(phrases.describe_candidate(finding.candidate))}"
    yield f"  changes  {safe_line(phrases.changes(finding))}"
    yield ""
    if finding.comparison is not None and finding.comparison.changes:
        page = render_comparison(PageFormat.TEXT, finding.comparison, colour=colour)
        yield from (f"  {line}".rstrip() for line in page.splitlines())
        yield ""
    yield from _next_steps(finding)
    yield from _packages(news)
    yield f"  to accept: {safe_line(phrases.command(outcome, finding))}"
    yield ""


def _remaining_work(news: News) -> Iterator[str]:
    """Yield the work that is left after a pin has moved."""
    yield from _next_steps(news.finding)
    yield from _packages(news)


def _next_steps(finding: Finding) -> Iterator[str]:
    if finding.patches:
        yield f"  patches: {phrases.patches(finding)}"
        advice = phrases.advice(finding)
        yield from _list([f"{patch.place}, {patch.pointer}: {text}" for patch, text in advice])
    if finding.undecided.wrong:
        yield "  nothing can be generated from this schema:"
        yield from _list([phrases.problem(problem) for problem in finding.undecided.wrong])
    if finding.undecided.open:
        number = pluralize(len(finding.undecided.open), "thing")
        yield f"  {number} to decide:"
        for _, lines in summarize_problems(finding.undecided.open, {*Level}):
            yield from (f"    {safe_line(line)}" for line in lines)


def _packages(news: News) -> Iterator[str]:
    if news.packages:
        yield "  packages:"
        yield from _list(
            [
                f"{package.folder}: {phrases.effect(package, news.finding)}"
                for package in news.packages
            ]
        )


def _list(texts: Sequence[str]) -> Iterator[str]:
    for text in texts[: phrases.MOST_SHOWN]:
        yield f"    {safe_line(text)}"
    if len(texts) > phrases.MOST_SHOWN:
        yield f"    and {len(texts) - phrases.MOST_SHOWN} more (--format json has them all)"
