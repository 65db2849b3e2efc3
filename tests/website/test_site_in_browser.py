"""The built site in a real browser, opened as files: width, landmarks, keyboard and search."""

from typing import Any

import pytest
from support.pages.browser import Page
from support.tables import case
from support.website.built import site

pytestmark = pytest.mark.xdist_group("chromium")

WIDE, NARROW = 1280, 360
SEARCH = {WIDE: ".md-search__button", NARROW: ".md-header__button[for=__search]"}
LANDMARKS = "['header', 'nav', 'main', 'footer'].filter(e => !document.querySelector(e))"


def opened(page: Page, name: str) -> None:
    page.size(WIDE)
    page.open((site() / name).as_uri())


def fits(page: Page) -> None:
    """A page has its landmarks, is as wide as any window, and asks nobody else."""
    assert page.evaluate(LANDMARKS) == []
    for width in (NARROW, WIDE):
        with case(width):
            page.size(width)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.complaints == []
    assert {one.partition(":")[0] for one in page.requests} <= {"file", "data"}


def test_a_page_fits_any_width_and_the_keyboard_first_leads_to_its_text(chromium: Page) -> None:
    opened(chromium, "protocol.html")
    fits(chromium)
    chromium.press("Tab", 9)
    target = chromium.evaluate("document.activeElement.getAttribute('href')")
    inside = f"!!document.querySelector('main {target}, main [id=\"{target[1:]}\"]')"
    assert chromium.evaluate("document.activeElement.matches('.md-skip')")
    assert chromium.evaluate(inside)


def test_search_finds_a_word_in_pages_that_are_files(chromium: Page) -> None:
    opened(chromium, "index.html")
    fits(chromium)
    for width, button in SEARCH.items():
        with case(width):
            chromium.size(width)
            chromium.click(button)
            assert waited(chromium, "seen('input').map(e => [e.select(), e])")
            chromium("Input.insertText", text="OPEN_PENDING")
            found = waited(chromium, "seen('a').map(e => e.getAttribute('href'))")
            assert any("protocol.html" in one for one in found), found
            chromium.press("Escape", 27)


def waited(page: Page, expression: str) -> list[Any]:
    """A list, once it has something; `seen` finds elements in the window of the search."""
    found: list[Any] = page.evaluate(
        "new Promise(done => {"
        " const seen = selector => [...document.querySelectorAll('*')]"
        ".flatMap(e => e.shadowRoot ? [...e.shadowRoot.querySelectorAll(selector)] : [])"
        ".filter(e => e.getClientRects().length);"
        f" const look = () => {{ const found = {expression};"
        " found.length ? done(found.map(String)) : setTimeout(look, 20); }; look(); })"
    )
    return found
