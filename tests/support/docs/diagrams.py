"""The diagrams in docs/negotiation.md, drawn from the rules, as git hosts draw them.

Run as a program, with PYTHONPATH=tests:docs:codegen, it rewrites the drawings in place.
"""

from typing import Final

from website.drawings.drawn import DRAWN, MARKED
from website.drawings.graphs import mermaid

from support.folders import ROOT

PAGE: Final = ROOT / "docs" / "negotiation.md"


def with_drawings(page: str) -> str:
    """The page with its drawings as they ought to be."""
    return MARKED.sub(
        lambda found: f"{found['mark']}```mermaid\n{mermaid(DRAWN[found['name']]())}```", page
    )


if __name__ == "__main__":
    PAGE.write_text(with_drawings(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
