"""How an outcome looks in each format."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from mcp_protogen.base.printable import page as shown
from mcp_protogen.base.problems import Level, Problem
from mcp_protogen.instep.update.dependents import Dependent, InputKind
from mcp_protogen.instep.update.findings import Finding
from mcp_protogen.instep.update.pages import UpdateFormat, render
from mcp_protogen.instep.update.pages.as_json import render_failure
from mcp_protogen.instep.update.undecided import OpenDecisions
from mcp_protogen.instep.update.updating import News, UpdateOptions, UpdateResult
from mcp_protogen.pipeline.inputs.patch_fit import Fit, PatchFit
from mcp_protogen.pipeline.inputs.pins import load_pins
from mcp_protogen.pipeline.reports.change import (
    PROTOCOL,
    Category,
    Comparison,
    ReportedChange,
    Severity,
)
from mcp_protogen.pipeline.sources.opening import open_source
from support import formats
from support.update.specifications import NEWEST, OLDER, Spec, reword, with_things

NEXT = "2031-01-01"
HOSTILE = "a\x1b[2J`|<b>\n::error::x\u202e*@you #1 [l](http://e.com)"
PEOPLE = (UpdateFormat.TEXT, UpdateFormat.MARKDOWN, UpdateFormat.GITHUB)


def outcome(spec: Spec, **asked: Any) -> UpdateResult:
    """Return the result of a first look."""
    source = open_source(str(spec.folder), None, None)
    found = spec.look()
    news = tuple(
        News(
            Finding(
                candidate,
                candidate.revision if candidate.pin else NEWEST,
                ("/$defs",),
                None,
                (),
                OpenDecisions(),
            ),
            (),
        )
        for candidate in found.candidates
        if candidate.state.is_news
    )
    return UpdateResult(UpdateOptions(source=source.name, **asked), source, found.candidates, news)


def about(spec: Spec, **known: Any) -> UpdateResult:
    """The only news of a look, with more that is known of it."""
    seen = outcome(spec)
    (news,) = seen.news
    packages = known.pop("packages", ())
    return replace(seen, news=(News(replace(news.finding, **known), packages),))


def move_schema(spec: Spec, **known: Any) -> UpdateResult:
    spec.edit(OLDER, reword)
    return about(spec, **known)


def hostile(spec: Spec) -> UpdateResult:
    """Text from elsewhere wherever there is any."""
    severity = dict.fromkeys(PROTOCOL, Severity.BREAKING)
    change = ReportedChange(
        "code", Category.TYPE, HOSTILE, HOSTILE, severity, "", HOSTILE, HOSTILE, "Why."
    )
    problem = Problem("bad-rule", HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    seen = move_schema(
        spec,
        pointers=(HOSTILE,),
        comparison=Comparison("before", "after", (change,)),
        patches=(PatchFit(HOSTILE, HOSTILE, Fit.STALE, HOSTILE),),
        undecided=OpenDecisions((problem,), (problem,)),
        packages=(Dependent(HOSTILE, OLDER, InputKind.OWN_FILE, HOSTILE),),
    )
    return replace(seen, notices=(problem._replace(level=Level.WARNING),))


def check_format(text: str) -> list[str]:
    """The faults of a document by both published formats."""
    document = json.loads(text)
    findings = [entry["finding"] for entry in document["revisions"] if entry["finding"]]
    comparisons = [finding["comparison"] for finding in findings if finding["comparison"]]
    inner = [
        fault for comparison in comparisons for fault in formats.faults("comparison", comparison)
    ]
    return formats.faults("update", document) + inner


def test_json_always_has_the_published_format(spec: Spec) -> None:
    unmoved = outcome(spec)
    spec.edit(NEWEST, with_things, to=NEXT)
    spec.write("draft", spec.path(NEWEST).read_bytes())
    new = outcome(spec)
    accepted = replace(new, accepted=load_pins(spec.schema)[OLDER])
    spec.path(NEXT).unlink()
    for result in (unmoved, new, accepted, hostile(spec)):
        assert check_format(render(UpdateFormat.JSON, result)) == []
    assert check_format(render_failure([Problem("not-json", HOSTILE)])) == []


def test_json_says_what_was_found_in_full(spec: Spec) -> None:
    document = json.loads(render(UpdateFormat.JSON, hostile(spec)))
    assert document["status"] == "differs"
    assert document["source"] == {"name": str(spec.folder), "kind": "folder", "commit": None}
    rows = {row["revision"]: row for row in document["revisions"]}
    assert rows[NEWEST]["finding"] is None
    assert rows[OLDER]["state"] == "moved"
    assert rows[OLDER]["sha256"] == spec.digest(OLDER)
    assert rows[OLDER]["pinned"]["date"] == "2030-01-02"
    finding = rows[OLDER]["finding"]
    assert finding["patches"][0] == {
        "place": HOSTILE,
        "pointer": HOSTILE,
        "fit": "stale",
        "reason": HOSTILE,
    }
    assert finding["undecided"][0]["message"] == HOSTILE
    assert finding["comparison"]["changes"][0]["item"] == HOSTILE


@pytest.mark.parametrize("format", PEOPLE)
def test_text_from_elsewhere_stays_text(spec: Spec, format: UpdateFormat) -> None:
    page = render(format, hostile(spec))
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert not [line for line in page.splitlines() if line.startswith("::error::x")]


def test_text_from_elsewhere_is_no_markup(spec: Spec) -> None:
    page = MarkdownIt("gfm-like", {"linkify": False}).render(
        render(UpdateFormat.MARKDOWN, hostile(spec))
    )
    assert page.count("&lt;b&gt;") > 10
    assert "<b>" not in page
    assert "href" not in page


@pytest.mark.parametrize("format", UpdateFormat)
def test_a_look_that_finds_nothing_says_so(spec: Spec, format: UpdateFormat) -> None:
    page = render(format, outcome(spec))
    assert page.endswith("\n")
    if format is not UpdateFormat.JSON:
        (line,) = page.splitlines()
        assert "nothing has moved" in line


@pytest.mark.parametrize("format", PEOPLE)
def test_long_lists_are_cut_for_people_and_not_for_programs(
    spec: Spec, format: UpdateFormat
) -> None:
    problems = tuple(
        Problem("bad-rule", f"number {number} of them", hint="decide") for number in range(25)
    )
    seen = move_schema(spec, undecided=OpenDecisions(problems))
    if format is not UpdateFormat.GITHUB:  # whose pages cut by themselves
        page = render(format, seen)
        assert "number 9 of them" in page
        assert "number 10 of them" not in page
        assert "and 15 more" in page
        assert page.count("hint: decide") == 1
    assert "number 24 of them" in render(UpdateFormat.JSON, seen)


@pytest.mark.parametrize("format", PEOPLE)
def test_each_page_tells_how_to_accept(spec: Spec, format: UpdateFormat) -> None:
    seen = move_schema(spec)
    asked = replace(seen.options, source="a folder", ref="main", folder=Path("my pins"))
    page = render(format, replace(seen, options=asked))
    digest = spec.digest(OLDER)[:12]
    source = str(spec.folder)
    expected = f"--source {source} --ref main --schema-folder 'my pins' --accept {digest}"
    assert f"mcp-gen update {OLDER} {expected}" in page


def test_the_default_source_is_not_repeated(spec: Spec) -> None:
    seen = move_schema(spec)
    page = render(UpdateFormat.TEXT, replace(seen, options=UpdateOptions()))
    assert f"mcp-gen update {OLDER} --accept" in page


def test_patches_are_told_with_what_to_do(spec: Spec) -> None:
    fits = tuple(PatchFit(f"p#/{fit}", f"/{fit}", fit, "Why.") for fit in Fit)
    page = render(UpdateFormat.TEXT, move_schema(spec, patches=fits))
    assert "patches: 1 still needed, 1 fixed upstream, 1 to write again\n" in page
    assert "p#/done, /done: upstream fixed this: drop the entry\n" in page
    assert "p#/stale, /stale: something else is there now" in page
    assert "p#/fits" not in page


@pytest.mark.parametrize("format", [UpdateFormat.TEXT, UpdateFormat.MARKDOWN])
def test_20_patches_are_listed_and_others_counted(spec: Spec, format: UpdateFormat) -> None:
    for number in (20, 21):
        fits = (PatchFit("p", "/x", Fit.STALE, "Why."),) * number
        page = render(format, move_schema(spec, patches=fits))
        assert page.count("something else is there now") == 20
        assert ("and 1 more" in page) is (number == 21)


def test_patches_of_the_revision_before_are_told_of_a_new_one(spec: Spec) -> None:
    spec.edit(NEWEST, with_things, to=NEXT)
    fits = tuple(PatchFit(f"p#/{fit}", f"/{fit}", fit, "Why.") for fit in Fit)
    page = render(UpdateFormat.TEXT, about(spec, patches=fits))
    assert "patches: 1 needed here as well, 1 not needed here, 1 to check\n" in page
    assert "p#/fits, /fits: the same mistake is there: copy the entry\n" in page
    assert "p#/done" not in page


@pytest.mark.parametrize(
    ("kind", "pointers", "said"),
    [
        (InputKind.PIN, ("/x",), "made from the pinned file; its code may change"),
        (InputKind.PIN, (), "made from the pinned file; its lock changes"),
        (InputKind.EARLIER, (), "made from an earlier publication, and out of date already"),
        (InputKind.FOUND, (), "made from the same file that was found; it stays"),
        (InputKind.OWN_FILE, (), "made from its own file, mine.json; it stays"),
    ],
)
def test_packages_are_told_with_what_becomes_of_them(
    spec: Spec, kind: InputKind, pointers: tuple[str, ...], said: str
) -> None:
    source = "mine.json" if kind is InputKind.OWN_FILE else "pinned"
    packages = (Dependent("src/pkg", OLDER, kind, source),)
    page = render(UpdateFormat.TEXT, move_schema(spec, pointers=pointers, packages=packages))
    assert f"    src/pkg: {said}" in page


def test_only_prose_is_said_as_such(spec: Spec) -> None:
    for format in PEOPLE:
        assert "only in prose" in render(format, move_schema(spec, pointers=()))


def test_a_structure_that_changes_nothing_is_said_as_such(spec: Spec) -> None:
    seen = move_schema(spec, comparison=Comparison("a", "b", ()))
    page = render(UpdateFormat.TEXT, seen)
    assert "differs in 1 place, without effect on messages: /$defs\n" in page


def test_a_terminal_gets_colours_and_nothing_else_does(spec: Spec) -> None:
    seen = move_schema(spec)
    assert "\x1b[1m" in shown(render(UpdateFormat.TEXT, seen, colour=True), colour=True)
    assert "\x1b" not in render(UpdateFormat.TEXT, seen)


def test_accepted_change_is_shown_with_remaining_work(spec: Spec) -> None:
    problem = Problem("derived-facts", "ping has no facts")
    seen = move_schema(spec, undecided=OpenDecisions((problem,)))
    accepted = replace(seen, accepted=load_pins(spec.schema)[OLDER])
    for format in PEOPLE:
        page = render(format, accepted)
        assert f"{OLDER} is pinned to {spec.digest(OLDER)[:12]}" in page
        assert "ping has no facts" in page
        assert "to accept" not in page.lower()
    assert json.loads(render(UpdateFormat.JSON, accepted))["status"] == "fine"
