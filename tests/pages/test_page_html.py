"""A comparison as a page: its markup."""

import base64
import hashlib
import re
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser

from mcp_protogen.base.resources import templates_folder
from mcp_protogen.pipeline.reports.change import (
    PROTOCOL,
    Category,
    Comparison,
    Matrix,
    MatrixRow,
    Reader,
)
from mcp_protogen.pipeline.reports.pages.html import render
from mcp_protogen.pipeline.reports.pages.html_views import CellMark, groups_of
from support import tables
from support.pages.comparisons import (
    ABSENT,
    AUDIO,
    BREAKING,
    CALL,
    HARM,
    MATRIX,
    NOTHING,
    PING,
    REMOVED,
    SMALL,
    TEXT,
    everybody,
    hostile,
    large,
    matrix,
    there,
)

MEGABYTE = 1 << 20
VOID = {"meta", "link", "input", "img", "br"}


@dataclass
class Element:
    """An element with its attributes and all text inside."""

    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Parsed(HTMLParser):
    """A page as a browser parses it."""

    elements: list[Element] = field(default_factory=list[Element])
    unclosed: list[Element] = field(default_factory=list[Element])

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in VOID:
            self.unclosed.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.unclosed.pop().tag == tag

    def handle_data(self, data: str) -> None:
        for element in self.unclosed:
            element.text += data

    def all(self, tag: str) -> list[Element]:
        return [element for element in self.elements if element.tag == tag]

    def find_by_id(self, name: str) -> list[Element]:
        return [e for e in self.elements if e.attributes.get("id") == name]

    def values(self, name: str) -> list[str]:
        return [e.attributes[name] for e in self.elements if name in e.attributes]


def parse_page(
    comparison: Comparison, beside: Matrix | None = None, reader: Reader | None = None
) -> Parsed:
    page = Parsed()
    page.feed(render(comparison, beside, reader=reader))
    page.close()
    assert page.unclosed == []
    return page


def changes_in(page: Parsed) -> list[str]:
    return [name for name in page.values("id") if name.startswith("change-")]


def test_every_change_is_in_the_markup_in_the_order_of_severity() -> None:
    page = parse_page(SMALL, MATRIX)
    assert changes_in(page) == [
        "change-method-removed-ping",
        "change-field-required-CallToolRequest.params.name",
        "change-field-type-CallToolResult.content",
        "change-type-added-AudioContent",
    ]
    assert page.all("title")[0].text == "2025-03-26 → 2025-06-18"


def test_a_reader_sees_their_own_order() -> None:
    order = changes_in(parse_page(SMALL, reader=Reader.SERVER))
    assert order[0] == "change-method-removed-ping"
    assert order[1] == "change-type-added-AudioContent"
    assert len(order) == len(SMALL.changes)


def test_an_audit_has_no_matrix_and_the_heads_say_the_titles() -> None:
    page = parse_page(replace(SMALL, before="2025-11-25", after="mcp_types 2.3.0"))
    assert "matrix" not in page.values("id") and "#matrix" not in page.values("href")
    heads = [e.text for e in page.all("th") if e.attributes.get("role") == "columnheader"]
    assert heads[:4] == ["Change", "2025-11-25", "mcp_types 2.3.0", "Matters to"]


def test_no_changes_are_said() -> None:
    page = parse_page(NOTHING)
    (empty,) = page.find_by_id("no-changes")
    assert empty.text == "No changes." and "hidden" not in empty.attributes
    (empty,) = parse_page(SMALL).find_by_id("no-changes")
    assert "hidden" in empty.attributes


def test_a_cell_says_what_happened_since_the_one_before() -> None:
    rows: list[tuple[MatrixRow, list[str]]] = [
        (PING, ["same", "same", "gone"]),
        (CALL, ["same", "changed", "same"]),
        (AUDIO, ["absent", "absent", "new"]),
        (TEXT, ["same", "same", "same"]),
        (MatrixRow(Category.TYPE, "x", (there("a"), ABSENT, there("a"))), ["same", "gone", "new"]),
        (
            MatrixRow(Category.TYPE, "x", (ABSENT, there("a", "1"), there("b", "1"))),
            ["absent", "new", "changed"],
        ),
    ]
    for row, marks in rows:
        with tables.case(row):
            ((view,),) = groups_of(matrix(row)).values()
            assert [mark for mark, _ in view.cells] == marks
            assert view.moves is bool({CellMark.NEW, CellMark.CHANGED, CellMark.GONE} & set(marks))


def test_rows_stand_in_groups_whatever_their_order() -> None:
    groups = groups_of(matrix(TEXT, PING, AUDIO, CALL))
    assert [(category, [row.name for row in rows]) for category, rows in groups.items()] == [
        (Category.METHOD, ["ping", "tools/call"]),
        (Category.TYPE, ["TextContent", "AudioContent"]),
    ]


def test_links_to_changes_stay_when_others_come_and_go() -> None:
    before = set(changes_in(parse_page(SMALL)))
    more = replace(SMALL, changes=(replace(REMOVED, item="a/first"), *SMALL.changes))
    assert before < set(changes_in(parse_page(more)))


def test_two_changes_of_one_name_can_both_be_linked_to() -> None:
    alike = [replace(REMOVED, item=item, pointer=item) for item in ("a/b", "a-b", "a b")]
    names = changes_in(parse_page(Comparison("a", "b", tuple(alike))))
    assert sorted(names) == [
        "change-method-removed-a-b",
        "change-method-removed-a-b-2",
        "change-method-removed-a-b-3",
    ]


def test_names_are_unique_and_links_inside_the_page_lead_somewhere() -> None:
    page = parse_page(*large())
    names = page.values("id")
    assert len(names) == len(set(names))
    inside = {link[1:] for link in page.values("href") if link.startswith("#")}
    assert inside <= set(names)
    assert len(inside) > 200
    for attribute in ("aria-labelledby", "for"):
        assert {name for value in page.values(attribute) for name in value.split()} <= set(names)


def test_every_control_has_a_label() -> None:
    page = parse_page(SMALL, MATRIX)
    labelled = set(page.values("for"))
    wrapped = page.all("label")
    for control in (*page.all("input"), *page.all("select")):
        name = control.attributes.get("id")
        alone = name not in labelled
        if alone:
            index = page.elements.index(control)
            around = max(i for i, e in enumerate(page.elements[:index]) if e.tag == "label")
            assert page.elements[around] in wrapped and page.elements[around].text.strip()


def test_the_parts_of_a_table_of_changes_say_what_they_are() -> None:
    # On a narrow screen they are laid out as blocks, and then some browsers need a role to treat
    # them as a table.
    page = parse_page(SMALL)
    start = page.elements.index(page.find_by_id("changes")[0])
    expected = {"table": {"table"}, "tr": {"row"}, "td": {"cell"}}
    expected |= {"thead": {"rowgroup"}, "tbody": {"rowgroup"}, "th": {"columnheader", "rowheader"}}
    parts = [e for e in page.elements[start:] if e.tag in expected]
    assert len(parts) > 4 * len(SMALL.changes)
    assert all(e.attributes.get("role") in expected[e.tag] for e in parts)


def test_the_page_asks_nobody_for_anything() -> None:
    page = render(*large(), reader=None)
    found = Parsed()
    found.feed(page)
    assert found.values("src") == []
    assert {link for link in found.values("href") if not link.startswith("#")} == {"data:,"}
    for name in ("base.css", "page.css", "page.js"):
        source = (templates_folder() / "compare" / name).read_text(encoding="utf-8")
        assert not re.search(r"url\(|@import|https?:|fetch\(|XMLHttp|import\(|eval\(", source)
        assert "</" not in source
        # The console changes lines that GitHub would take for commands, and the digest with them.
        assert "\n::" not in source


def test_the_policy_lets_only_our_own_style_and_script_in() -> None:
    page = parse_page(SMALL)
    (policy,) = [e.attributes["content"] for e in page.all("meta") if "http-equiv" in e.attributes]
    (style,), (script,) = page.all("style"), page.all("script")
    for kind, element in (("style-src", style), ("script-src", script)):
        digest = base64.b64encode(hashlib.sha256(element.text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';") and "unsafe" not in policy


def test_harm_stays_text() -> None:
    comparison, beside = hostile()
    page = parse_page(comparison, beside)
    harmless = parse_page(replace(SMALL, changes=SMALL.changes[:1]), matrix(AUDIO))
    assert {e.tag for e in page.elements} <= {e.tag for e in harmless.elements}
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert not [name for e in page.elements for name in e.attributes if name.startswith("on")]
    shown = [e.text for e in page.all("code")]
    assert any("<img src=x onerror=" in text and "{{ 7*7 }}" in text for text in shown)
    assert all(text.isprintable() for text in shown)
    assert not any(
        char in render(comparison, beside, reader=None)
        for char in HARM
        if not char.isprintable() and char not in "\n"
    )


def test_the_page_of_two_far_revisions_is_not_heavy() -> None:
    assert len(render(*large(), reader=None).encode()) < MEGABYTE


def test_a_severity_is_never_said_by_colour_alone() -> None:
    page = parse_page(Comparison("a", "b", (replace(REMOVED, severity=everybody(BREAKING)),)))
    badges = [e for e in page.all("span") if "data-reader" in e.attributes]
    assert [" ".join(badge.text.split()) for badge in badges] == [
        f"✕ {reader}: breaking." for reader in PROTOCOL
    ]
