"""Drift: each cause is distinguished from all others."""

from pathlib import Path
from typing import Any

from mcp_protogen.pipeline.output.drift import Cause, DriftKind, drift
from mcp_protogen.pipeline.output.lock import LOCK_NAME, LockedFile, lock_file, lock_of
from mcp_protogen.pipeline.output.tree import NOT_A_FILE, Tree, read_tree
from mcp_protogen.pipeline.package import GenerationInputs
from support import tables
from support.unit.packages import INPUTS, REVISION, package, put, with_revisions

PACKAGE = package({"__init__.py": "1", "v2025_11_25/models.py": "2"})
LOCK = lock_of(PACKAGE, {})
FILES = {path: entry.sha256 for path, entry in LOCK.files.items()} | {LOCK_NAME: "any"}
OTHER = "9" * 64


def tree(**changed: str | None) -> Tree:
    files = {**FILES, **changed}
    return Tree({path: digest for path, digest in files.items() if digest}, frozenset())


def causes(inputs: GenerationInputs = INPUTS, found: Tree | None = None) -> list[tuple[str, str]]:
    return [(cause.kind, cause.subject) for cause in drift(LOCK, inputs, found or tree())]


def move_inputs(**changed: Any) -> GenerationInputs:
    return INPUTS._replace(revisions={"2025-11-25": REVISION._replace(**changed)})


def test_a_package_as_it_was_generated_has_none() -> None:
    assert lock_file(LOCK).path == LOCK_NAME
    assert causes() == []


def test_a_folder_without_a_lock_was_not_generated() -> None:
    found = drift(None, INPUTS, tree())
    assert [cause.kind for cause in found] == [DriftKind.NOT_GENERATED]


MODELS = "v2025_11_25/models.py"
# The digests of changed files, and the only cause.
CHANGED: tuple[tuple[dict[str, str | None], DriftKind, str], ...] = (
    ({"__init__.py": OTHER}, DriftKind.EDITED, "__init__.py"),
    ({"__init__.py": NOT_A_FILE}, DriftKind.EDITED, "__init__.py"),
    ({"__init__.py": None}, DriftKind.MISSING, "__init__.py"),
    ({"mine.py": OTHER}, DriftKind.FOREIGN, "mine.py"),
    # A link in place of a folder.
    ({MODELS: None, "v2025_11_25": NOT_A_FILE}, DriftKind.EDITED, "v2025_11_25"),
)


def test_file_that_changed_is_the_only_cause() -> None:
    for changed, kind, subject in CHANGED:
        with tables.case(changed):
            assert causes(found=tree(**changed)) == [(kind, subject)]


def test_a_folder_in_place_of_a_file() -> None:
    found = Tree(tree(**{"__init__.py": None}).files, frozenset({"__init__.py"}))
    (cause,) = drift(LOCK, INPUTS, found)
    assert (cause.kind, cause.subject) == (DriftKind.EDITED, "__init__.py")
    assert cause.message.startswith("a folder is in place")


def test_line_endings_that_a_checkout_changed_are_one_cause_with_a_way_out(tmp_path: Path) -> None:
    folder = tmp_path / "src" / "pkg"
    put(PACKAGE, folder)
    for path in LOCK.files:
        text = (folder / path).read_bytes()
        (folder / path).write_bytes(text + b"\r\n")
    lock = lock_of(package({path: f"{number}\n" for number, path in enumerate(LOCK.files, 1)}), {})
    (tmp_path / ".git").mkdir()
    (cause,) = drift(lock, INPUTS, read_tree(folder))
    assert (cause.kind, cause.subject) == (DriftKind.LINE_ENDINGS, "__init__.py")
    assert cause.message.startswith("this file and 1 more have CRLF")
    assert cause.message.endswith(".gitattributes prevents it: src/pkg/** text eol=lf")
    (folder / "__init__.py").write_bytes(b"1 \r\n")
    kinds = [cause.kind for cause in drift(lock, INPUTS, read_tree(folder))]
    assert kinds == [DriftKind.EDITED, DriftKind.LINE_ENDINGS]


def test_an_edit_that_the_lock_was_made_to_fit_differs_from_what_is_generated() -> None:
    path = "__init__.py"
    forged = LOCK._replace(files={**LOCK.files, path: LockedFile(OTHER, "test")})
    found = tree(**{path: OTHER})
    assert drift(forged, INPUTS, found) == ()
    known = [(cause.kind, cause.subject) for cause in drift(forged, INPUTS, found, (), LOCK.files)]
    assert known == [(DriftKind.EDITED, LOCK_NAME), (DriftKind.EDITED, path)]
    only = LOCK._replace(files={path: LOCK.files[path], "x.py": LockedFile(OTHER, "test")})
    found = tree(**{"v2025_11_25/models.py": None, "x.py": OTHER})
    known = [(cause.kind, cause.subject) for cause in drift(only, INPUTS, found, (), LOCK.files)]
    missing = (DriftKind.MISSING, "v2025_11_25/models.py")
    assert known == [(DriftKind.EDITED, LOCK_NAME), missing, (DriftKind.FOREIGN, "x.py")]


def test_an_input_that_moved_is_the_only_cause() -> None:
    rows: list[tuple[GenerationInputs, DriftKind, str]] = [
        (move_inputs(published=OTHER, schema=OTHER), DriftKind.SCHEMA, "2025-11-25"),
        (move_inputs(source="draft.json"), DriftKind.SCHEMA, "2025-11-25"),
        (move_inputs(facts=OTHER), DriftKind.FACTS, "2025-11-25"),
        (move_inputs(patches=""), DriftKind.PATCHES, "2025-11-25"),
        (move_inputs(descriptions=OTHER), DriftKind.DESCRIPTIONS, "2025-11-25"),
        (INPUTS._replace(templates_digest=OTHER), DriftKind.TEMPLATES, "templates"),
        (INPUTS._replace(generator="mcp-gen 2"), DriftKind.GENERATOR, "mcp-gen"),
        (INPUTS._replace(generator_digest=OTHER), DriftKind.GENERATOR, "mcp-gen"),
        (INPUTS._replace(generator="2", generator_digest=OTHER), DriftKind.GENERATOR, "mcp-gen"),
        (INPUTS._replace(runtime_digest=OTHER), DriftKind.RUNTIME, "runtime"),
        (INPUTS._replace(options={"name": "x"}), DriftKind.OPTIONS, "name"),
        (INPUTS._replace(generator="mcp-gen 0.9"), DriftKind.GENERATOR, "mcp-gen"),
        (with_revisions(["2025-11-25", "draft"]), DriftKind.ADDED, "draft"),
        (with_revisions([]), DriftKind.REMOVED, "2025-11-25"),
    ]
    for inputs, kind, subject in rows:
        with tables.case(inputs):
            assert causes(inputs) == [(kind, subject)]


def test_a_generator_that_is_older_is_said_to_be() -> None:
    for generator, said in (("mcp-gen 0.9.9", True), ("mcp-gen 2", False)):
        (cause,) = drift(LOCK, INPUTS._replace(generator=generator), tree())
        assert cause.message.endswith(f"this is {generator}, which is older") == said


def test_a_commit_alone_is_no_cause() -> None:
    assert causes(move_inputs(spec_commit="abcdef1")) == []


def test_a_schema_that_changed_is_said_to_with_its_structure_or_its_file() -> None:
    for moved, more in (
        ({"published": OTHER}, ", but not in its structure"),
        ({"published": OTHER, "schema": OTHER}, ""),
        ({"published": OTHER, "schema": OTHER, "source": "a.json"}, " (pinned → a.json)"),
    ):
        message = f"its published schema changed{more}"
        with tables.case(message):
            (cause,) = drift(LOCK, move_inputs(**moved), tree())
            assert cause == Cause(DriftKind.SCHEMA, "2025-11-25", message, "a" * 12, "9" * 12)
