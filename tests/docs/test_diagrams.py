"""The drawings of the page on negotiation match the rules, its tables those of tests."""

from support.docs.diagrams import PAGE, with_drawings
from support.sessions.probe_answers import TABLES, with_tables


def test_the_page_shows_the_rules_as_they_are() -> None:
    page = PAGE.read_text(encoding="utf-8")
    message = "run: PYTHONPATH=tests:docs:codegen python -m support.docs.diagrams"
    assert with_tables(with_drawings(page)) == page, message
    for name in ("handshake", "finding"):
        assert f"<!-- drawn: {name} -->\n```mermaid" in page
    for name in TABLES:
        assert f"<!-- table: probe {name} -->\n| the server answers |" in page
