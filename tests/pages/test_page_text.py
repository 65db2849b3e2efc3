"""A comparison as text for a terminal."""

import re
import subprocess
import sys
from dataclasses import replace

import pytest
from mcp_protogen.base.printable import page as shown
from mcp_protogen.pipeline.reports.change import PROTOCOL, Category, Comparison, Reader
from mcp_protogen.pipeline.reports.pages import PageFormat, render
from mcp_protogen.pipeline.reports.pages.as_text import WIDTH
from mcp_protogen.pipeline.reports.pages.as_text import render as text
from mcp_protogen.pipeline.reports.pages.ranking import CATEGORIES
from support import tables
from support.pages.comparisons import (
    INFO,
    NEW,
    NONE,
    NOTHING,
    REMOVED,
    REQUIRED,
    RETYPED,
    SMALL,
    everybody,
)

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def lines(comparison: Comparison, reader: Reader | None = None) -> list[str]:
    return text(comparison, reader=reader, colour=False).splitlines()


def test_the_worst_comes_first_and_each_change_has_its_values() -> None:
    assert text(SMALL, reader=None, colour=False) == (
        "2025-03-26 -> 2025-06-18\n"
        "\n"
        "Breaking (2)\n"
        "\n"
        "  methods\n"
        "    ping  removed  [method-removed: everybody]\n"
        "  fields\n"
        "    CallToolRequest.params.name  required: optional -> required"
        "  [field-required: client, sdk]\n"
        "\n"
        "  method-removed: Whoever still sends it is refused.\n"
        "  field-required: A message without it is refused.\n"
        "\n"
        "Warnings (1)\n"
        "\n"
        "  fields\n"
        "    CallToolResult.content  type changed  [field-type: client, sdk, gateway]\n"
        "                            - [EmbeddedResource|ImageContent|TextContent]\n"
        "                            + [AudioContent|EmbeddedResource|ImageContent|ResourceLink|"
        "TextContent]\n"
        "\n"
        "  field-type: Readers meet kinds of content that they do not know.\n"
        "\n"
        "Info (1)\n"
        "\n"
        "  types\n"
        "    AudioContent  added: object, 4 members  [type-added: client, server, sdk]\n"
        "\n"
        "for        breaking   warning      info\n"
        "client            2         1         1\n"
        "server            1         0         3\n"
        "sdk               2         1         1\n"
        "gateway           1         2         0\n"
        "\n"
        "2 breaking, 1 warning, 1 info\n"
    )


def test_a_reader_sees_the_severities_that_are_theirs() -> None:
    shown = lines(SMALL, Reader.SERVER)
    assert shown[-1] == "1 breaking, 3 info for server"
    assert (
        "    CallToolRequest.params.name  required: optional -> required  [field-required]" in shown
    )


def test_irrelevant_changes_are_counted_but_hidden() -> None:
    shown = lines(SMALL, Reader.GATEWAY)
    assert not any("AudioContent  " in line for line in shown)
    assert shown[-1] == "1 breaking, 2 warnings for gateway (1 for others)"


def test_changes_irrelevant_to_all_are_kept() -> None:
    nobody = replace(NEW, severity=everybody(NONE))
    assert any("AudioContent" in line for line in lines(Comparison("a", "b", (nobody,))))


def test_the_same_twice_is_said_in_a_line() -> None:
    assert lines(NOTHING) == ["2025-03-26 -> 2025-03-26", "", "no changes"]
    assert lines(NOTHING, Reader.CLIENT)[-1] == "no changes"


def test_colour_adds_colour_and_nothing_else() -> None:
    coloured = shown(text(SMALL, reader=None, colour=True), colour=True)
    assert COLOUR.sub("", coloured) == text(SMALL, reader=None, colour=False)
    assert "\x1b[1;31mBreaking (2)\x1b[0m" in coloured
    assert "\x1b[31moptional\x1b[0m -> \x1b[32mrequired\x1b[0m" in coloured


def test_many_new_types_are_listed_in_a_paragraph() -> None:
    names = [f"Type{number:02}" for number in range(42)]
    many = tuple(replace(NEW, item=name) for name in names)
    shown = lines(Comparison("a", "b", (*many, REMOVED)))
    assert "    added (42):  [type-added: client, server, sdk]" in shown
    listed = " ".join(line.strip() for line in shown if line.startswith(" " * 8))
    assert listed.split(", ") == names
    assert len(shown) < 30


def test_breaking_changes_are_never_folded() -> None:
    many = tuple(replace(REMOVED, item=f"tasks/{number}") for number in range(42))
    shown = lines(Comparison("a", "b", many))
    assert sum("[method-removed: everybody]" in line for line in shown) == 42


def test_values_are_shown_even_of_many_like_fields() -> None:
    added = replace(NEW, category=Category.FIELD, code="field-added")
    many = tuple(replace(added, item=f"Tool.f{n}", after=f"string{n}") for n in range(9))
    shown = "\n".join(lines(Comparison("a", "b", many)))
    assert all(f"added: string{number}  " in shown for number in range(9))


def test_changes_that_differ_only_in_name_are_grouped() -> None:
    many = tuple(replace(RETYPED, item=f"T{n}._meta", before="a", after="b") for n in range(5))
    shown = lines(Comparison("a", "b", (*many, RETYPED)))
    assert "    type changed: a -> b (5):  [field-type: client, sdk, gateway]" in shown
    assert "        T0._meta, T1._meta, T2._meta, T3._meta, T4._meta" in shown
    assert any(line.startswith("    CallToolResult.content  type changed") for line in shown)


def test_a_reason_is_given_once() -> None:
    twins = (REMOVED, replace(REMOVED, item="pong"), replace(REMOVED, code="other", item="z"))
    shown = lines(Comparison("a", "b", twins))
    told = [line for line in shown if REMOVED.why in line]
    assert told == [f"  method-removed, other: {REMOVED.why}"]


def test_a_reason_is_not_repeated_for_what_is_less_severe() -> None:
    both = (REMOVED, replace(REMOVED, code="other", severity=everybody(INFO)))
    shown = lines(Comparison("a", "b", both))
    assert [line for line in shown if REMOVED.why in line] == [f"  method-removed: {REMOVED.why}"]


@pytest.mark.parametrize("reader", [None, *PROTOCOL])
def test_lines_fit_on_a_terminal(reader: Reader | None) -> None:
    wordy = replace(RETYPED, message="what it says takes some more room " * 5, why="because " * 40)
    long_item = replace(REQUIRED, item="client:tasks.requests.sampling.createMessage" * 2)
    shown = lines(Comparison("a", "b", (wordy, long_item, RETYPED)), reader)
    assert max(map(len, shown)) <= WIDTH
    narrow = text(SMALL, reader=reader, colour=False, width=80).splitlines()
    assert max(map(len, narrow)) <= 80
    assert any(line.strip() == long_item.item for line in shown)


def test_lines_have_60_columns_on_terminals_that_are_narrower() -> None:
    for word, width, longest in (("bb", 10, 60), ("bb", 60, 60), ("b", 10, 59), ("b", 61, 61)):
        wordy = replace(NEW, why=f"{word} " * 99)
        page = text(Comparison("a", "b", (wordy,)), reader=None, colour=False, width=width)
        with tables.case((word, width)):
            assert max(len(line) for line in page.splitlines() if "b b" in line) == longest


def test_a_name_longer_than_a_line_stays_whole() -> None:
    name = "x" * 200
    assert any(
        name in line for line in lines(Comparison("a", "b", (replace(REMOVED, before=name),)))
    )


def test_items_of_a_group_are_aligned() -> None:
    pair = (replace(REMOVED, item="a"), replace(REMOVED, item="longer/name"))
    shown = [line for line in lines(Comparison("a", "b", pair)) if "[method-removed" in line]
    assert {line.index("removed") for line in shown} == {4 + len("longer/name") + 2}


def test_equal_severity_is_ordered_by_category_then_name() -> None:
    mixed = [
        replace(REMOVED, category=category, item=item, severity=everybody(INFO), before=item)
        for item in ("b", "a")
        for category in (Category.RULE, Category.METHOD)
    ]
    shown = lines(Comparison("a", "b", tuple(mixed)))
    order = [line.strip() for line in shown if line.startswith("  ")]
    assert [line.split("  ")[0] for line in order[:6]] == ["methods", "a", "b", "rules", "a", "b"]


def test_text_does_not_load_a_template_engine() -> None:
    program = (
        "import sys; from mcp_protogen.pipeline.reports.change import Comparison\n"
        "from mcp_protogen.pipeline.reports.pages import PageFormat, render\n"
        "render(PageFormat.TEXT, Comparison('a', 'b', ()))\n"
        "heavy = 'black datamodel_code_generator jinja2 jsonschema pydantic typer'.split()\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[]\n"


def test_every_format_ends_its_last_line_and_is_the_same_again() -> None:
    for format in list(PageFormat):
        with tables.case(format):
            once = render(format, SMALL, reader=Reader.CLIENT)
            assert once.endswith("\n") and not once.endswith("\n\n")
            shuffled = replace(SMALL, changes=SMALL.changes[::-1])
            assert render(format, shuffled, reader=Reader.CLIENT) == once


def test_every_category_has_a_heading() -> None:
    assert set(CATEGORIES) == set(Category)
