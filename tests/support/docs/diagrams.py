"""The diagrams and tables in docs/negotiation.md, drawn from the rules and from rows of tests.

As a program, with PYTHONPATH=tests:docs:codegen, it rewrites them in place.
"""

from typing import Final

from support.folders import ROOT
from support.sessions.probe_answers import with_tables
from website.drawings.drawn import DRAWN, MARKED
from website.drawings.graphs import mermaid

PAGE: Final = ROOT / "docs" / "negotiation.md"


def with_drawings(page: str) -> str:
    return MARKED.sub(
        lambda found: f"{found['mark']}```mermaid\n{mermaid(DRAWN[found['name']]())}```", page
    )


if __name__ == "__main__":
    page = with_tables(with_drawings(PAGE.read_text(encoding="utf-8")))
    PAGE.write_text(page, encoding="utf-8")
