"""The drawings of the page on negotiation are those of the rules."""

from support.docs.diagrams import PAGE, with_drawings


def test_the_page_shows_the_rules_as_they_are() -> None:
    page = PAGE.read_text(encoding="utf-8")
    message = "run: PYTHONPATH=tests:docs:codegen python -m support.docs.diagrams"
    assert with_drawings(page) == page, message
    for name in ("handshake", "finding"):
        assert f"<!-- drawn: {name} -->\n```mermaid" in page
