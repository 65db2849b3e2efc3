"""The revisions that a run makes, and those it keeps."""

import pytest
from mcp_protogen.base.option_constraints import OptionConstraint, refuse_conflicts
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.config import GivenFile, GivenPatches
from mcp_protogen.pipeline.inputs.pins import load_pins
from mcp_protogen.pipeline.options import OPTIONS
from mcp_protogen.pipeline.output.lock import Lock, lock_of
from mcp_protogen.pipeline.package import GenerationInputs
from mcp_protogen.pipeline.parts import PARTS
from mcp_protogen.pipeline.selection import (
    refuse_missing_schemas,
    refuse_unused,
    select,
    with_locked,
)
from mcp_protogen.pipeline.settings import Settings
from support import tables
from support.unit.packages import INPUTS, package, with_revisions

PINS = load_pins()
DRAFT = GivenFile("draft.json", b"{}")


def make_lock(inputs: GenerationInputs) -> Lock:
    return lock_of(package({}, inputs), {})


def refusal_codes(*asked: str, schema: GivenFile | None = None) -> list[str]:
    with pytest.raises(ProblemError) as caught:
        select(asked, PINS, None, schema)
    return [problem.code for problem in caught.value.problems]


def test_parts_are_added_to_those_that_are_there_unless_they_are_all() -> None:
    older = make_lock(INPUTS)
    none = make_lock(INPUTS._replace(options={"with": []}))
    two = make_lock(INPUTS._replace(options={"with": ["stdio", "toolkit"]}))
    for asked, lock, only, parts in (
        (("none",), None, False, ()),
        (("toolkit, stdio", "stdio"), None, False, ("stdio", "toolkit")),
        (("stdio,all",), None, False, tuple(sorted(PARTS))),
        (None, two, False, ("stdio", "toolkit")),
        (None, two, True, ("stdio", "toolkit")),
        (None, none, False, ()),
        (("bridge",), two, False, ("bridge", "stdio", "toolkit")),
        (("none",), two, False, ("stdio", "toolkit")),
        (("none",), two, True, ()),
        (("bridge",), two, True, ("bridge",)),
        # A package with everything keeps everything.
        (None, older, False, tuple(sorted(PARTS))),
    ):
        with tables.case((asked, only)):
            assert with_locked(Settings(parts=asked, prune=only), lock).parts == parts


def test_parts_that_are_none_are_refused_with_the_nearest() -> None:
    for asked, code, hint in (
        ("http-sever", "unknown-part", "did you mean http-server or "),
        ("", "unknown-part", "known: all, "),
        ("none,stdio", "conflicting-options", ""),
    ):
        with tables.case(asked), pytest.raises(ProblemError) as caught:
            with_locked(Settings(parts=(asked,)), None)
        (problem,) = caught.value.problems
        assert problem.code == code and problem.hint.startswith(hint)


OF_FILE = make_lock(with_revisions(["draft"], "draft.json"))
PIN_FROM_FILE = make_lock(with_revisions(["2025-11-25"], "mine.json"))
# Revisions that are named, the lock, the schema; those that are made and those that are kept.
SELECTED: dict[str, tuple[tuple[str, ...], Lock | None, GivenFile | None, str, str]] = {
    "a first run": (("2025-11-25",), None, None, "2025-11-25", ""),
    "a later run adds": (("2026-07-28",), make_lock(INPUTS), None, "2025-11-25 2026-07-28", ""),
    "a later run without a name": ((), make_lock(INPUTS), None, "2025-11-25", ""),
    "a schema in place of a pin": (("2025-11-25",), None, DRAFT, "2025-11-25", ""),
    "a schema for the one without a pin": (
        ("2025-11-25", "draft"),
        None,
        DRAFT,
        "2025-11-25 draft",
        "",
    ),
    "a file that is not at hand": (("2025-11-25",), OF_FILE, None, "2025-11-25", "draft"),
    "a kept revision is named": (("draft",), OF_FILE, None, "", "draft"),
    "a pin from a file": ((), PIN_FROM_FILE, None, "", "2025-11-25"),
    "back from a file to the pin": (("2025-11-25",), PIN_FROM_FILE, None, "2025-11-25", ""),
}


def test_run_makes_or_keeps_revisions_that_are_named_or_there() -> None:
    for name, (asked, lock, schema, revisions, kept) in SELECTED.items():
        with tables.case(name):
            options = select(asked, PINS, lock, schema)
            assert options.revisions == tuple(revisions.split())
            assert options.schemas == ({asked[-1]: schema} if schema else {})
            known = (lock or make_lock(INPUTS)).inputs.revisions
            assert options.kept == {revision: known[revision] for revision in kept.split()}


def test_run_without_or_with_unknown_revisions_is_refused() -> None:
    assert refusal_codes() == ["no-revision"]
    assert refusal_codes("2025-11-26", "2025-11-25", "x y") == ["unknown-revision", "unsafe-name"]
    for asked in ((), ("draft", "other"), ("2025-11-25", "2026-07-28")):
        assert "ambiguous-schema" in refusal_codes(*asked, schema=DRAFT)


def test_a_kept_revision_has_to_fit_the_tool() -> None:
    made = OF_FILE.inputs
    options = select(("2025-11-25",), PINS, OF_FILE)
    for unfit in (
        made._replace(runtime_digest="0" * 64),
        made._replace(options={"with": ["http-client"]}),
    ):
        with pytest.raises(ProblemError, match="needs-schema"):
            refuse_missing_schemas(options, OF_FILE, unfit)
    for fit in (made, made._replace(options={"with": ["http-client", "http-server"]})):
        refuse_missing_schemas(options, OF_FILE, fit)


def test_a_revision_whose_pin_is_gone_stops_generating() -> None:
    lock = make_lock(with_revisions(["2019-01-01", "2025-11-25"]))
    options = select((), PINS, lock)
    assert options.revisions == ("2025-11-25",)
    with pytest.raises(ProblemError, match=r"unknown-revision.*2019-01-01"):
        refuse_missing_schemas(options, lock, INPUTS)


def test_schemas_are_for_the_revisions_that_name_them() -> None:
    file, other = GivenFile("a.json", b"{}"), GivenFile("b.json", b"{}")
    asked = ("2024-11-05", "2025-11-25", "draft")
    options = select(asked, PINS, None, DRAFT, named={"2024-11-05": file, "2025-11-25": other})
    assert options.schemas == {"2024-11-05": file, "2025-11-25": other, "draft": DRAFT}
    assert select(("draft",), PINS, None, named={"draft": file}).revisions == ("draft",)
    # A revision of the package is made again, whatever its source.
    found = select(("2025-11-25",), PINS, OF_FILE, named={"draft": file})
    assert found.revisions == ("2025-11-25", "draft") and found.kept == {}


def test_a_file_for_a_revision_that_is_not_made_is_refused() -> None:
    options = select(("2025-11-25",), PINS, None)
    patches = [GivenPatches("", (), "all.json", ""), GivenPatches("x", (), "x.json", "")]
    with pytest.raises(ProblemError) as caught:
        refuse_unused(options, {"2025-11-26": DRAFT}, patches)
    found = [(problem.code, problem.place) for problem in caught.value.problems]
    assert found == [("unused-file", "draft.json"), ("unused-file", "x.json")]
    refuse_unused(options, {"2025-11-25": DRAFT}, patches[:1])


def test_constraints_of_options_name_known_options() -> None:
    spelled = {option.spelled for option in OPTIONS}
    constraints = [option.constraint for option in OPTIONS if option.constraint]
    assert [
        constraint
        for constraint in constraints
        if not spelled.issuperset((constraint.option, *constraint.needs))
    ] == []


def test_broken_constraints_are_reported_with_reason() -> None:
    constraints = (
        OptionConstraint("--a", needs=("--b", "--c"), why="it is odd", hint="leave it out"),
        OptionConstraint("--file", excludes=("--d", "--e"), is_file=True),
    )
    refuse_conflicts({"--a": 1, "--c": 1, "--d": 1}, constraints)
    for given, line in (
        ({"--a": 1, "--d": 1}, "--a needs --b or --c: it is odd"),
        ({"--file": "x.json", "--d": 1}, "x.json: --file and --d exclude each other"),
    ):
        with tables.case(line), pytest.raises(ProblemError) as caught:
            refuse_conflicts(given, constraints)
        assert line in str(caught.value)
