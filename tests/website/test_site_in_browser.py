"""The built site in a real browser, opened as a file: width, landmarks, keyboard and search."""

from collections.abc import Generator
from typing import Any

import pytest
from support.missing import untested
from support.pages.browser import Page, browser, executable
from support.tables import case
from support.website.built import site

PAGES = ("index.html", "protocol.html")
WIDE, NARROW = 1280, 400
SEARCH = {WIDE: ".md-search__button", NARROW: ".md-header__button[for=__search]"}
LANDMARKS = "['header', 'nav', 'main', 'footer'].filter(e => !document.querySelector(e))"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Generator[Page, None, None]:
    program = executable()
    if program is None:
        untested("chromium", "the site in a browser")
    with browser(program, tmp_path_factory.mktemp("profile")) as page:
        yield page


def test_pages_fit_any_width_and_ask_nobody_else(chromium: Page) -> None:
    for name in PAGES:
        for width in (WIDE, NARROW):
            with case((name, width)):
                chromium.size(width)
                chromium.open((site() / name).as_uri())
                assert chromium.evaluate("document.documentElement.scrollWidth") <= width
                assert chromium.evaluate(LANDMARKS) == []
                assert chromium.complaints == []
                asked = [one.partition(":")[0] for one in chromium.requests]
                assert {*asked} <= {"file", "data"}


def test_the_first_stop_of_the_keyboard_leads_to_the_text(chromium: Page) -> None:
    chromium.size(WIDE)
    chromium.open((site() / "protocol.html").as_uri())
    chromium.press("Tab", 9)
    target = chromium.evaluate("document.activeElement.getAttribute('href')")
    inside = f"!!document.querySelector('main {target}, main [id=\"{target[1:]}\"]')"
    assert chromium.evaluate("document.activeElement.matches('.md-skip')")
    assert chromium.evaluate(inside)


def test_search_finds_a_word_in_pages_that_are_files(chromium: Page) -> None:
    for width, button in SEARCH.items():
        with case(width):
            chromium.size(width)
            chromium.open((site() / "index.html").as_uri())
            chromium.click(button)
            assert waited(chromium, "inner('input').filter(e => e.getClientRects().length)")
            chromium("Input.insertText", text="OPEN_PENDING")
            found = waited(chromium, "inner('a').map(e => e.getAttribute('href'))")
            assert any("protocol.html" in one for one in found), found


def waited(page: Page, expression: str) -> list[Any]:
    """A list, once it has something; `inner` finds elements in the window of the search."""
    found: list[Any] = page.evaluate(
        "new Promise(done => {"
        " const inner = selector => [...document.querySelectorAll('*')]"
        ".flatMap(e => e.shadowRoot ? [...e.shadowRoot.querySelectorAll(selector)] : []);"
        f" const look = () => {{ const found = {expression};"
        " found.length ? done(found.map(String)) : setTimeout(look, 20); }; look(); })"
    )
    return found
