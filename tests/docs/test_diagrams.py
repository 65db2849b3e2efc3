"""The drawing of the page on negotiation is that of the rules."""

from support.docs.diagrams import PAGE, drawn, with_drawings


def test_the_page_shows_the_rules_as_they_are() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_drawings(page) == page, "run: PYTHONPATH=tests python -m support.docs.diagrams"
    for name in drawn():
        assert f"<!-- drawn: {name} -->" in page
