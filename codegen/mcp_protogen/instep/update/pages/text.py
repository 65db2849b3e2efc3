"""An outcome as text for a terminal: each finding with its changes and open decisions."""

from collections.abc import Iterator, Sequence

from mcp_protogen.base.colours import Colour, painted
from mcp_protogen.base.printable import counted, one_line
from mcp_protogen.base.problems import Level, summed_up
from mcp_protogen.instep.update.findings import Finding
from mcp_protogen.instep.update.pages import phrases
from mcp_protogen.instep.update.updating import News, UpdateResult
from mcp_protogen.pipeline.reports.pages import PageFormat
from mcp_protogen.pipeline.reports.pages import render as render_comparison


def render(outcome: UpdateResult, *, colour: bool) -> str:
    """Return the outcome as lines; the summary is at the end, or before the work that is left."""
    return "".join(f"{line}\n" for line in _lines(outcome, colour))


def _lines(outcome: UpdateResult, colour: bool) -> Iterator[str]:
    summary = one_line(phrases.summary(outcome))
    if outcome.accepted is not None:
        yield summary
        for news in outcome.news:
            yield from _left(news)
        return
    for news in outcome.news:
        yield from _shown(outcome, news, colour)
    yield summary


def _shown(outcome: UpdateResult, news: News, colour: bool) -> Iterator[str]:
    finding = news.finding
    yield painted(Colour.BOLD, one_line(phrases.headline(finding)), on=colour)
    yield f"  pinned   {one_line(phrases.pinned(finding))}"
    yield f"  found    {one_line(phrases.found(finding.candidate))}"
    yield f"  changes  {one_line(phrases.changes(finding))}"
    yield ""
    if finding.comparison is not None and finding.comparison.changes:
        page = render_comparison(PageFormat.TEXT, finding.comparison, colour=colour)
        yield from (f"  {line}".rstrip() for line in page.splitlines())
        yield ""
    yield from _settling(finding)
    yield from _packages(news)
    yield f"  to accept: {one_line(phrases.command(outcome, finding))}"
    yield ""


def _left(news: News) -> Iterator[str]:
    """Yield the work that is left after a pin has moved."""
    yield from _settling(news.finding)
    yield from _packages(news)


def _settling(finding: Finding) -> Iterator[str]:
    if finding.patches:
        yield f"  patches: {phrases.patches(finding)}"
        advice = phrases.advice(finding)
        yield from _list([f"{one.place}, {one.pointer}: {text}" for one, text in advice])
    if finding.undecided.wrong:
        yield "  nothing can be generated from this schema:"
        yield from _list([phrases.problem(one) for one in finding.undecided.wrong])
    if finding.undecided.open:
        number = counted(len(finding.undecided.open), "thing")
        yield f"  {number} to decide:"
        for _, lines in summed_up(finding.undecided.open, {*Level}):
            yield from (f"    {one_line(line)}" for line in lines)


def _packages(news: News) -> Iterator[str]:
    if news.packages:
        yield "  packages:"
        yield from _list(
            [f"{one.folder}: {phrases.effect(one, news.finding)}" for one in news.packages]
        )


def _list(texts: Sequence[str]) -> Iterator[str]:
    for text in texts[: phrases.MOST_SHOWN]:
        yield f"    {one_line(text)}"
    if len(texts) > phrases.MOST_SHOWN:
        yield f"    and {len(texts) - phrases.MOST_SHOWN} more (--format json has them all)"
