"""The page in a real browser: its look, its controls, and its requests."""

from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.pipeline.reports.change import PROTOCOL, Comparison, Reader
from support.pages.browser import Page
from support.pages.comparisons import MATRIX, NOTHING, SMALL, hostile, large
from support.pages.comparisons import page as written
from support.pages.measures import OVERFLOWING, contrast
from support.tables import case

CHANGES = "#changes tbody tr"
ROWS = "#matrix tbody tr:not(.group)"
TAB = ("Tab", 9)
WIDE, NARROW = 1280, 400


pytestmark = pytest.mark.xdist_group("chromium")


@pytest.fixture
def page(chromium: Page) -> Page:
    chromium.size(WIDE)
    chromium.scheme("light")
    chromium.scripting(on=True)
    return chromium


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page of 200 changes and 300 rows."""
    return written(tmp_path_factory.mktemp("large"), *large())


@pytest.fixture
def small(page: Page, tmp_path: Path) -> Page:
    page.open(written(tmp_path, SMALL, MATRIX))
    return page


# Elements with a size, not hidden themselves or by a parent.
SEEN = "[...document.querySelectorAll({})].filter(e => e.getClientRects().length)"


def visible(page: Page, selector: str) -> list[str]:
    """The names in the rows that are seen, in the order they are seen in."""
    names = ".map(e => e.querySelector('code').textContent)"
    found: list[str] = page.evaluate(SEEN.format(repr(selector)) + names)
    return found


def count(page: Page, selector: str) -> int:
    """How many elements are seen."""
    number: int = page.evaluate(SEEN.format(repr(selector)) + ".length")
    return number


def text(page: Page, selector: str) -> str:
    found: str = page.evaluate(f"document.querySelector({selector!r}).textContent")
    return found


def select(page: Page, category: str) -> None:
    """Choose from a list, whose popup window a headless browser lacks."""
    page.evaluate(
        "(e => { e.value = " + repr(category) + ";"
        " e.dispatchEvent(new Event('input', {bubbles: true})); })"
        "(document.querySelector('#category'))"
    )


def test_the_page_opens_without_a_complaint_and_asks_for_nothing_else(
    page: Page, address: str
) -> None:
    page.open(address)
    assert page.complaints == []
    assert page.requests == [address]
    assert count(page, CHANGES) == 200
    assert count(page, ROWS) == 300
    assert text(page, "#shown") == "200 of 200 changes, 300 of 300 rows"


def test_typing_into_the_search_box_narrows_changes_and_rows(small: Page) -> None:
    small.type("#query", "audio")
    assert visible(small, CHANGES) == ["CallToolResult.content", "AudioContent"]
    assert visible(small, ROWS) == ["AudioContent"]
    assert count(small, "#matrix .group") == 1
    small.type("#query", " ADDED")
    assert visible(small, CHANGES) == ["AudioContent"]
    assert text(small, "#shown") == "1 of 4 changes, 0 of 4 rows"
    assert count(small, "#no-rows") == 1
    small.type("#query", " nowhere")
    assert text(small, "#no-changes") == "No change matches." and count(small, "#no-changes") == 1
    small.click("button[type=reset]")
    assert count(small, CHANGES) == 4 and count(small, ROWS) == 4


def test_words_of_the_page_itself_are_not_searched(small: Page) -> None:
    small.type("#query", "gateway")
    assert visible(small, CHANGES) == []


def test_choosing_a_reader_sorts_changes_by_what_they_mean_to_that_reader(small: Page) -> None:
    breaking = "#changes [data-severity=breaking] tbody tr"
    assert visible(small, breaking) == ["ping", "CallToolRequest.params.name"]
    small.click("[name=for][value=server]")
    assert visible(small, breaking) == ["ping"]
    assert visible(small, "#changes [data-severity=info] tbody tr") == [
        "AudioContent",
        "CallToolRequest.params.name",
        "CallToolResult.content",
    ]
    small.click("[name=for][value=gateway]")
    assert visible(small, "#changes [data-severity=none] tbody tr") == ["AudioContent"]
    small.click("[name=for][value='']")
    assert visible(small, breaking) == ["ping", "CallToolRequest.params.name"]
    assert count(small, "#changes [data-severity=none]") == 0


def test_severities_and_categories_can_be_left_out(small: Page) -> None:
    small.click("[name=severity][value=breaking]")
    assert visible(small, CHANGES) == ["CallToolResult.content", "AudioContent"]
    assert count(small, "#breaking-heading") == 0
    small.click("[name=severity][value=breaking]")
    select(small, "field")
    assert visible(small, CHANGES) == ["CallToolRequest.params.name", "CallToolResult.content"]
    assert visible(small, ROWS) == []
    select(small, "type")
    assert visible(small, ROWS) == ["AudioContent", "TextContent"]


def test_rows_that_never_change_can_be_left_out(small: Page) -> None:
    small.click("#moving")
    assert visible(small, ROWS) == ["ping", "tools/call", "AudioContent"]


def test_a_number_in_the_overview_shows_what_it_counts(small: Page) -> None:
    small.click(".tally [data-reader=gateway][data-severity=warning] button")
    assert visible(small, CHANGES) == ["CallToolRequest.params.name", "CallToolResult.content"]
    assert (
        small.evaluate("document.querySelectorAll('.tally [data-reader=gateway] button').length")
        == 2
    )


def test_choices_are_in_address_and_can_be_shared(small: Page) -> None:
    small.click("[name=for][value=sdk]")
    small.click("[name=severity][value=info]")
    small.click("#moving")
    small.type("#query", "call tool")
    small.evaluate(
        "new Promise(done => { const look = () =>"
        " location.hash.includes('q=call+tool') ? done() : setTimeout(look, 10); look(); })"
    )
    chosen, rows = visible(small, CHANGES), visible(small, ROWS)
    assert chosen and len(chosen) < 4
    address = small.evaluate("location.href")
    small.open("about:blank")
    small.open(address)
    assert (visible(small, CHANGES), visible(small, ROWS)) == (chosen, rows)
    assert small.evaluate("document.querySelector('#query').value") == "call tool"
    assert small.evaluate("document.querySelector('#moving').checked")
    small.click("button[type=reset]")
    assert "#" not in small.evaluate("location.href")
    assert small.complaints == []


def test_a_choice_that_a_browser_kept_is_passed_on_as_well(page: Page, tmp_path: Path) -> None:
    address = written(tmp_path, SMALL, MATRIX)
    file = Path(address.removeprefix("file://"))
    given, kept = 'value="sdk"', 'value="sdk" checked'
    text = file.read_text(encoding="utf-8")
    assert text.count(given) == 1
    file.write_text(text.replace(given, kept), encoding="utf-8")
    page.open(address)
    assert page.evaluate("document.documentElement.dataset.reader") == "sdk"
    page.click("[name=severity][value=info]")
    page.evaluate(
        "new Promise(done => { const look = () => location.hash ? done() : setTimeout(look, 10);"
        " look(); })"
    )
    assert page.evaluate("location.hash").startswith("#for=sdk&")


def test_a_link_to_a_change_shows_it_clear_of_the_filters(page: Page, address: str) -> None:
    name = "change-field-type-SubscriptionsAcknowledgedNotification101.params._meta"
    page.open(f"{address}#{name}")
    bar, row = page.evaluate(
        f"[document.querySelector('#filters'), document.getElementById({name!r})]"
        ".map(e => e.getBoundingClientRect()).map(box => [box.top, box.bottom])"
    )
    top, bottom = row
    assert bar[1] <= top < bottom < 900
    # The row under the middle of it is the row itself: nothing lies over it.
    over = page.evaluate(
        f"document.elementFromPoint({WIDE // 2}, {(top + bottom) / 2}).closest('tr').id"
    )
    assert over == name


def test_a_link_to_a_change_that_is_filtered_out_shows_everything_again(small: Page) -> None:
    small.type("#query", "nowhere")
    assert count(small, CHANGES) == 0
    small.evaluate(
        "new Promise(done => {"
        " addEventListener('hashchange', () => setTimeout(done), {once: true});"
        " location.hash = 'change-method-removed-ping'; })"
    )
    # Typed text is written into the address a moment later, and must not replace the link.
    small.evaluate("new Promise(done => setTimeout(done, 350))")
    assert small.evaluate("location.hash") == "#change-method-removed-ping"
    assert count(small, CHANGES) == 4
    assert small.evaluate("document.querySelector(':target .item code').textContent") == "ping"


def test_without_scripts_everything_is_there(page: Page, address: str) -> None:
    page.scripting(on=False)
    page.open(address)
    assert count(page, CHANGES) == 200
    assert count(page, ROWS) == 300
    assert count(page, "#filters") == 0
    assert count(page, "#moving") == 0
    assert page.evaluate("document.documentElement.style.length") == 0  # the script has not run


@pytest.mark.parametrize("content", ["large", "hostile"])
def test_page_fits_into_window(page: Page, address: str, tmp_path: Path, content: str) -> None:
    page.open(address if content == "large" else written(tmp_path, *hostile()))
    for width in (WIDE, 1024, 870, NARROW, 320):
        with case(width):
            page.size(width)
            assert page.evaluate(OVERFLOWING) == []
            assert page.evaluate(
                "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
            )


OVERLAPPING = """
(() => {
    const boxes = [...document.querySelectorAll("#filters label, #filters button, #shown")]
        .filter(e => e.getClientRects().length)
        .map(e => [e.textContent, e.getBoundingClientRect()]);
    const found = [];
    for (const [one, a] of boxes) for (const [other, b] of boxes)
        if (one < other && a.left < b.right - 1 && b.left < a.right - 1
            && a.top < b.bottom - 1 && b.top < a.bottom - 1) found.push([one, other]);
    return found;
})()
"""


def test_controls_do_not_lie_on_each_other(page: Page, address: str) -> None:
    page.open(address)
    for width in (WIDE, 1024, NARROW):
        with case(width):
            page.size(width)
            assert page.evaluate(OVERLAPPING) == []


def test_the_heads_of_the_matrix_stay_in_view(page: Page, address: str) -> None:
    page.size(NARROW)
    page.open(address)
    moved = page.evaluate(
        "(e => { e.scrollTo(300, 2000); const box = e.getBoundingClientRect();"
        " const head = e.querySelector('thead th:last-child').getBoundingClientRect();"
        " const first = e.querySelectorAll('tbody th[scope=row]')[60].getBoundingClientRect();"
        " return [e.scrollLeft, e.scrollTop, head.top - box.top, first.left - box.left]; })"
        "(document.querySelector('.scroll'))"
    )
    assert moved == [300, 2000, 1, 1]  # one pixel of border


def test_the_heads_of_the_changes_stay_in_view(page: Page, address: str) -> None:
    page.open(address)
    bar, head = page.evaluate(
        "(() => { const rows = document.querySelectorAll('#changes tbody tr');"
        " rows[40].scrollIntoView({behavior: 'instant'});"
        " return ['#filters', '.changes thead th'].map("
        "   s => document.querySelector(s).getBoundingClientRect())"
        "   .map((box, i) => i ? box.top : box.bottom); })()"
    )
    assert head == pytest.approx(bar, abs=2)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_stands_out_from_what_is_behind_it(small: Page, scheme: str) -> None:
    # 4.5 to 1 is what WCAG 2.2 asks of text, https://www.w3.org/TR/WCAG22/#contrast-minimum.
    small.scheme(scheme)
    for reader in ("", "client"):
        small.click(f"[name=for][value='{reader}']")
        seen, faults = small.evaluate(contrast("#query"))
        assert faults == []
        assert seen > 100


def test_light_and_dark_differ(small: Page) -> None:
    grounds: list[str] = []
    for scheme in ("light", "dark"):
        small.scheme(scheme)
        grounds.append(small.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(set(grounds)) == 2


def test_everything_can_be_reached_and_used_with_the_keyboard(small: Page) -> None:
    reached: list[str] = []
    for _ in range(60):
        small.press(*TAB)
        focused = small.evaluate(
            "(e => e.id || e.name || e.className || e.tagName)(document.activeElement)"
        )
        reached.append(focused)
        if focused == "for" and reached.count("for") == 1:
            small.press("ArrowRight", 39)
    assert reached[0] == "skip"
    for control in (
        "query",
        "for",
        "severity",
        "category",
        "moving",
        "scroll",
        "anchor",
        "SUMMARY",
    ):
        assert control in reached
    assert small.evaluate("document.querySelector('#filters').elements.for.value") == "client"


def test_focus_is_visible(small: Page) -> None:
    for _ in range(12):
        small.press(*TAB)
        outline = small.evaluate(
            "(e => { const seen = e.matches('.choices input') ? e.nextElementSibling : e;"
            " return getComputedStyle(seen).outlineStyle; })(document.activeElement)"
        )
        assert outline == "solid"


def roles(page: Page) -> dict[str, int]:
    nodes: list[dict[str, Any]] = page("Accessibility.getFullAXTree")["nodes"]
    found: dict[str, int] = {}
    for node in nodes:
        if not node.get("ignored"):
            role = node["role"]["value"]
            found[role] = found.get(role, 0) + 1
    return found


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_those_who_do_not_see_the_page_meet_tables_of_rows_and_cells(
    small: Page, width: int
) -> None:
    small.size(width)
    found = roles(small)
    # The overview, a table for each of three severities, and the matrix.
    assert found["table"] == 5
    heads_and_groups = 1 + 3 + 1 + 2
    assert found["row"] == heads_and_groups + len(PROTOCOL) + len(SMALL.changes) + len(MATRIX.rows)
    # Each change has its name, its readers and, when there is room for them, both sides.
    assert found["rowheader"] >= len(SMALL.changes)
    assert found["cell"] >= (3 if width == WIDE else 2) * len(SMALL.changes)
    assert found["searchbox"] == 1 and found["radio"] == 5 and found["region"] >= 1


def test_on_paper_nothing_is_cut_off(page: Page, address: str) -> None:
    page.open(address)
    page("Emulation.setEmulatedMedia", media="print")
    try:
        region = "document.querySelector('.scroll')"
        assert page.evaluate(f"getComputedStyle({region}).overflow") == "visible"
        assert page.evaluate(f"{region}.scrollHeight <= {region}.clientHeight + 1")
        assert count(page, "#filters") == 0
        assert count(page, CHANGES) == 200
        assert (
            page.evaluate("getComputedStyle(document.querySelector('.changes tr')).display")
            == "table-row"
        )
    finally:
        page("Emulation.setEmulatedMedia", media="")


def test_harm_in_names_does_nothing(page: Page, tmp_path: Path) -> None:
    address = written(tmp_path, *hostile())
    page.open(address)
    assert page.complaints == []
    assert page.requests == [address]
    assert page.evaluate("document.images.length + document.scripts.length") == 1
    assert page.evaluate("document.title").startswith("</script></style><img src=x")
    assert count(page, CHANGES) == 1
    small_link = page.evaluate("document.querySelector('.anchor').hash.slice(1)")
    assert page.evaluate(f"document.getElementById({small_link!r}) !== null")


def test_the_policy_stops_what_would_get_through_all_the_same(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    spoilt = Path(written(tmp_path, SMALL, None).removeprefix("file://"))
    markup = spoilt.read_text(encoding="utf-8")
    file.write_text(
        markup.replace(
            "<main>",
            "<main><img src='x.png' onerror='document.title=1'><script>document.title=1</script>",
        ),
        encoding="utf-8",
    )
    page.open(file.as_uri())
    assert page.evaluate("document.title") == "2025-03-26 → 2025-06-18"
    assert len(page.complaints) >= 2


@pytest.mark.parametrize(("comparison", "reader"), [(SMALL, Reader.SERVER), (NOTHING, None)])
def test_a_page_without_a_matrix_works_as_well(
    page: Page, tmp_path: Path, comparison: Comparison, reader: Reader | None
) -> None:
    page.open(written(tmp_path, comparison, None, reader))
    assert page.complaints == []
    assert count(page, CHANGES) == len(comparison.changes)
    assert count(page, "#matrix") == 0
    total = len(comparison.changes)
    assert text(page, "#shown") == f"{total} of {total} changes"
    page.type("#query", "ping")
    page.click("button[type=reset]")
    assert page.evaluate("document.querySelector('#filters').elements.for.value") == (reader or "")
    assert text(page, "#no-changes") == "No changes." or total
