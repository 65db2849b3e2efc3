"""Drawings as SVG for the pages of the site, drawn by Graphviz when the site is built."""

import json
import re
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Final

from website.drawings.drawn import DRAWN, MARKED
from website.drawings.graphs import LARGE, SMALL, START, Graph, as_table, dot
from website.scripts import libraries, run

_DRAW: Final = Path(__file__).with_name("draw.cjs")
_HEAD: Final = re.compile(r'.*?<svg width="(?P<width>\d+)pt" height="\d+pt"\n', re.S)
_COMMENT: Final = re.compile(r"<!--.*?-->\n", re.S)
_TITLE: Final = re.compile(r"<title>.*?</title>\n")
# The colour of the text around them, which differs in light and dark.
_COLOUR: Final = re.compile(r'(?P<what>fill|stroke)="black"')
_TEXT: Final = re.compile(r"<text ")


class UndrawnError(Exception):
    """A page has a drawing that is not made from tables."""


def with_drawings(text: str) -> str:
    """Return a page of Markdown with drawings in place of those for git hosts."""
    drawn = MARKED.sub(lambda found: drawing(found["name"]), text)
    if "```mermaid" in drawn:
        raise UndrawnError(f"a drawing has no mark, or is unknown: {drawn.split('```mermaid')[1]}")
    return drawn


def drawing(name: str) -> str:
    """Return a drawing with its title, and a table that says the same, as HTML in Markdown."""
    return (
        f'<figure class="drawing" markdown="0" tabindex="0">\n{_svgs()[name]}</figure>\n\n'
        f'<details class="drawing-text" markdown="1">\n'
        f"<summary>{escape(DRAWN[name]().title)}, as a table</summary>\n\n"
        f"{as_table(DRAWN[name]())}\n</details>\n"
    )


@cache
def _svgs() -> Mapping[str, str]:
    """Return every drawing, all drawn by one process; raise `RuntimeError`."""
    graphs = {name: graph() for name, graph in DRAWN.items()}
    texts = json.dumps([dot(graph) for graph in graphs.values()])
    done = run("node", _DRAW, environment={"NODE_PATH": str(libraries())}, given=texts)
    drawn = zip(graphs.items(), json.loads(done), strict=True)
    return {name: _accessible(name, graph, svg) for (name, graph), svg in drawn}


def _accessible(name: str, graph: Graph, svg: str) -> str:
    """Return an SVG with its title and description, in the colours of its page."""
    said = "; ".join(
        f"from {start} to {end} on {', or '.join(labels)}"
        for (start, end), labels in graph.joined.items()
        if start != START
    )
    head = _HEAD.match(svg)
    if head is None:
        raise ValueError(f"the drawing {name} has no size")
    width = int(head["width"])
    rest = _TITLE.sub("", _COMMENT.sub("", svg[head.end() :]))
    opening, end, rest = rest.partition(">\n")
    for size, drawn in ((LARGE, 13), (SMALL, 11)):
        rest = rest.replace(f'font-size="{size}.00"', f'font-size="{drawn}"')
    rest = _TEXT.sub('<text fill="currentColor" ', rest)
    rest = _COLOUR.sub(r'\g<what>="currentColor"', rest)
    return (
        f'<svg role="img" aria-labelledby="{name}-title {name}-description"'
        f' style="min-width: {width * 0.7:.0f}pt; max-width: {width}pt" {opening.strip()}{end}'
        f'<title id="{name}-title">{escape(graph.title)}</title>\n'
        f'<desc id="{name}-description">{escape(said)}</desc>\n'
        f"{rest}"
    )
