"""Publishing: written, kept, removed and refused files; users' work is never lost."""

import errno
import os
from pathlib import Path

import pytest
from mcp_protogen.base.names import module_name
from mcp_protogen.base.problems import Level, ProblemError
from mcp_protogen.pipeline.output.lock import LOCK_NAME
from mcp_protogen.pipeline.output.tree import read_tree
from mcp_protogen.pipeline.output.workspace import exclusive
from mcp_protogen.pipeline.package import Package
from support.unit.packages import (
    LATER,
    NEW,
    OLD,
    beside,
    codes,
    contents,
    forge,
    package,
    put,
    with_revisions,
)


def test_a_new_folder_gets_every_file_and_the_lock(out: Path) -> None:
    outcome = put(OLD, out)
    assert contents(out).keys() > {"__init__.py", "v2025_11_25/models.py", LOCK_NAME}
    assert outcome.created == outcome.written
    assert beside(out) == ["pkg"]


def test_parents_created_for_nothing_are_removed(out: Path) -> None:
    with pytest.raises(RuntimeError), exclusive(out / "a" / "b"):
        raise RuntimeError
    assert beside(out) == []


def test_an_empty_folder_is_filled(out: Path) -> None:
    out.mkdir()
    put(OLD, out)
    assert (out / "__init__.py").read_text() == "old"


def test_folders_left_without_files_go(out: Path) -> None:
    put(NEW, out)
    put(OLD, out)
    assert not (out / "v2026_07_28").exists()


def test_an_empty_folder_of_the_user_stays_where_all_files_around_it_go(out: Path) -> None:
    put(NEW, out)
    (out / "v2026_07_28" / "mine").mkdir()
    put(OLD, out)
    assert [path.name for path in (out / "v2026_07_28").iterdir()] == ["mine"]


def test_unchanged_package_is_not_touched(out: Path) -> None:
    put(OLD, out)
    before = out.stat().st_ino
    outcome = put(OLD, out)
    assert (outcome.written, outcome.removed) == ((), ())
    assert out.stat().st_ino == before


def test_files_and_links_of_the_user_survive_untouched(out: Path) -> None:
    put(OLD, out)
    (out / "v2025_11_25" / "mine.py").write_text("mine")
    (out / "notes").mkdir()
    (out / "empty").mkdir()
    (out / "link").symlink_to("v2025_11_25/gone.py")
    before = (out / "v2025_11_25" / "mine.py").stat()
    put(NEW, out)
    after = (out / "v2025_11_25" / "mine.py").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert os.readlink(out / "link") == "v2025_11_25/gone.py"
    assert (out / "notes").is_dir() and (out / "empty").is_dir()


def test_files_of_the_user_survive_without_hard_links(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    put(OLD, out)
    (out / "mine.py").write_text("mine")
    monkeypatch.setattr(os, "link", refuse)
    put(NEW, out)
    assert (out / "mine.py").read_text() == "mine"


def test_a_link_that_the_user_saves_meanwhile_is_kept(out: Path) -> None:
    put(OLD, out)
    with exclusive(out) as space:
        old = out.parent / "old"
        old.mkdir()
        (out / "linked.py").write_text("x")
        (old / "linked.py").symlink_to("missing")
        space.rescue(old, ())
    assert (out / "linked.py").is_symlink()


def test_rights_of_the_folder_stay(out: Path) -> None:
    put(OLD, out)
    out.chmod(0o750)
    put(NEW, out)
    assert out.stat().st_mode & 0o777 == 0o750


def test_an_output_folder_behind_a_link_stays_behind_it(out: Path) -> None:
    out.symlink_to("real")
    (out.parent / "real").mkdir()
    put(OLD, out)
    assert out.is_symlink()
    assert (out.parent / "real" / LOCK_NAME).is_file()


def test_an_edit_that_is_what_would_be_written_is_no_edit(out: Path) -> None:
    put(OLD, out)
    (out / "__init__.py").write_text("new")
    put(NEW, out)
    assert (out / "__init__.py").read_text() == "new"


def test_a_lock_is_not_believed_against_what_the_same_inputs_make(out: Path) -> None:
    put(OLD, out)
    forge(out, __init__="edited", thesis="years of work")
    with pytest.raises(ProblemError) as caught:
        put(OLD, out)
    assert codes(caught) == ["edited-file"]
    assert caught.value.problems[0].place == str(out / "__init__.py")
    put(OLD, out, force=True)
    assert (out / "__init__.py").read_text() == "old"
    assert (out / "thesis.py").read_text() == "years of work"
    assert "thesis" not in (out / LOCK_NAME).read_text()


def test_adding_revision_does_not_overwrite_foreign_files(out: Path) -> None:
    put(without("2026-07-28"), out)
    forge(out, **{"v2025_11_25/models": "edited", "v2025_11_25/mine": "mine"})
    with pytest.raises(ProblemError) as caught:
        put(BOTH, out)
    assert [problem.place for problem in caught.value.problems] == [
        str(out / "v2025_11_25" / "models.py")
    ]
    put(BOTH, out, force=True)
    assert (out / "v2025_11_25" / "models.py").read_text() == "older"
    assert (out / "v2025_11_25" / "mine.py").read_text() == "mine"


def test_ends_of_lines_that_a_checkout_changed_are_put_right(out: Path) -> None:
    put(package({"a.py": "1\n2\n", "b.py": "1\n2\n", "gone.py": "3\n"}), out)
    for path in out.glob("*.py"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    outcome = put(package({"a.py": "1\n2\n", "b.py": "new\n"}, LATER), out)
    assert contents(out).keys() == {"a.py", "b.py", LOCK_NAME}
    assert (out / "a.py").read_bytes() == b"1\n2\n"
    (warning,) = outcome.warnings
    assert (warning.code, warning.level, warning.place) == (
        "line-endings",
        Level.WARNING,
        str(out / "a.py"),
    )
    assert warning.hint.endswith(": pkg/** text eol=lf")
    assert put(package({"a.py": "1\n2\n", "b.py": "new\n"}, LATER), out).warnings == ()


def without(revision: str) -> Package:
    """Return a package without one revision of `BOTH`."""
    inputs = with_revisions({"2025-11-25", "2026-07-28"} - {revision})
    files = {file.path: file.content.decode() for file in BOTH.files}
    folder = module_name(revision)
    others = {p: text for p, text in files.items() if not p.startswith((folder, "translate/"))}
    return package(others, inputs)


BOTH = package(
    {
        "__init__.py": "both",
        "translate/v2026_07_28.py": "between",
        "v2025_11_25/models.py": "older",
        "v2026_07_28/models.py": "newer",
    },
    with_revisions(["2025-11-25", "2026-07-28"]),
)


def test_a_revision_that_is_taken_out_goes_with_all_that_is_about_it(out: Path) -> None:
    put(BOTH, out)
    (out / "v2025_11_25" / "mine.py").write_text("mine")
    outcome = put(without("2025-11-25"), out)
    assert outcome.removed == ("translate/v2026_07_28.py", "v2025_11_25/models.py")
    assert contents(out).keys() == {
        *("__init__.py", LOCK_NAME, "v2025_11_25", "v2025_11_25/mine.py"),
        *("v2026_07_28", "v2026_07_28/models.py"),
    }


def test_translation_files_go_with_second_last_revision(out: Path) -> None:
    files = {file.path: file.content.decode() for file in BOTH.files}
    runtime = {"_runtime/core.py": "core", "_runtime/translation.py": "between"}
    put(package({**files, **runtime}, BOTH.inputs), out)
    one = without("2025-11-25")
    files = {file.path: file.content.decode() for file in one.files}
    outcome = put(package({**files, "_runtime/core.py": "core"}, one.inputs), out)
    assert "_runtime/translation.py" in outcome.removed
    assert (out / "_runtime" / "core.py").is_file()


def test_an_edited_file_of_a_revision_goes_by_force_only(out: Path) -> None:
    put(BOTH, out)
    (out / "v2025_11_25" / "models.py").write_text("edited")
    between = out / "translate" / "v2026_07_28.py"
    between.unlink()
    (out.parent / "elsewhere").write_text("mine")
    between.symlink_to(out.parent / "elsewhere")
    before = contents(out)
    with pytest.raises(ProblemError) as caught:
        put(without("2025-11-25"), out)
    assert codes(caught) == ["edited-file", "edited-file"]
    assert contents(out) == before
    put(without("2025-11-25"), out, force=True)
    assert contents(out).keys() == {
        *("__init__.py", LOCK_NAME, "v2026_07_28", "v2026_07_28/models.py")
    }
    assert (out.parent / "elsewhere").read_text() == "mine"


def test_force_overwrites_an_edit_but_deletes_none(out: Path) -> None:
    put(OLD, out)
    (out / "__init__.py").write_text("edited")
    (out / "v2025_11_25" / "gone.py").write_text("edited")
    put(NEW, out, force=True)
    assert (out / "__init__.py").read_text() == "new"
    assert (out / "v2025_11_25" / "gone.py").read_text() == "edited"


def test_a_generated_file_replaced_by_a_link_counts_as_edited(out: Path) -> None:
    put(OLD, out)
    (out.parent / "elsewhere").write_text("old")
    (out / "__init__.py").unlink()
    (out / "__init__.py").symlink_to(out.parent / "elsewhere")
    with pytest.raises(ProblemError) as caught:
        put(NEW, out)
    assert codes(caught) == ["edited-file"]
    put(NEW, out, force=True)
    assert (out.parent / "elsewhere").read_text() == "old"


def test_a_folder_of_someone_else_is_refused_by_name(out: Path) -> None:
    out.mkdir()
    (out / "thesis.txt").write_text("years of work")
    with pytest.raises(ProblemError, match=r"thesis\.txt") as caught:
        put(OLD, out)
    assert codes(caught) == ["foreign-file"]
    assert list(contents(out)) == ["thesis.txt"]


def test_force_fills_a_folder_of_someone_else_and_loses_nothing(out: Path) -> None:
    out.mkdir()
    (out / "thesis.txt").write_text("years of work")
    put(OLD, out, force=True)
    assert (out / "thesis.txt").read_text() == "years of work"


def test_generated_files_whose_lock_was_lost_are_taken_over(out: Path) -> None:
    put(OLD, out)
    (out / LOCK_NAME).unlink()
    assert put(OLD, out).written == (LOCK_NAME,)


def test_a_file_of_the_user_in_the_way_is_refused(out: Path) -> None:
    put(OLD, out)
    (out / "v2026_07_28").mkdir()
    (out / "v2026_07_28" / "models.py").write_text("mine")
    with pytest.raises(ProblemError) as caught:
        put(NEW, out)
    assert codes(caught) == ["foreign-file"]
    assert (out / "v2026_07_28" / "models.py").read_text() == "mine"


@pytest.mark.parametrize("force", [False, True])
def test_all_files_and_folders_in_the_way_are_named_with_a_hint(out: Path, force: bool) -> None:
    put(OLD, out)
    (out / "file").write_text("mine")
    for folder in ("b.py", "a.py"):
        (out / folder).mkdir()
    before = contents(out)
    made = package({"a.py": "1", "b.py": "2", "file/x.py": "3", "file/y.py": "4"}, LATER)
    with pytest.raises(ProblemError) as caught:
        put(made, out, force=force)
    found = [problem for problem in caught.value.problems if "is needed here" in problem.message]
    assert [(problem.place, problem.message) for problem in found] == [
        (str(out / "file"), "a file or a link is in place of a folder that is needed here"),
        (str(out / "a.py"), "a folder is in place of a file that is needed here"),
        (str(out / "b.py"), "a folder is in place of a file that is needed here"),
    ]
    assert {problem.code for problem in found} == {"foreign-file"}
    hint = "move it away; --force does not exchange files and folders"
    assert {problem.hint for problem in found} == {hint}
    assert contents(out) == before


def test_generated_file_that_goes_makes_room_for_a_folder(out: Path) -> None:
    put(package({"a": "1"}), out)
    put(package({"a/b.py": "2"}, LATER), out)
    assert (out / "a" / "b.py").read_text() == "2"


def test_not_even_force_replaces_a_folder_by_a_file_or_the_reverse(out: Path) -> None:
    put(OLD, out)
    (out / "v2026_07_28").write_text("a file where a folder has to be")
    with pytest.raises(ProblemError) as caught:
        put(NEW, out, force=True)
    assert codes(caught) == ["foreign-file"]
    put(package({"x": "1"}), out, force=True)
    with pytest.raises(ProblemError):
        put(package({"x/y": "1", "v2026_07_28/z": "2"}), out, force=True)


def test_bytecode_of_imports_is_no_obstacle_and_no_news(out: Path) -> None:
    put(OLD, out)
    (out / "__pycache__").mkdir()
    (out / "__pycache__" / "x.pyc").write_bytes(b"")
    assert put(OLD, out).written == ()


def test_a_kept_revision_with_a_file_missing_asks_for_its_schema(out: Path) -> None:
    draft = with_revisions(["draft"], "draft.json")
    put(package({"__init__.py": "1", "vdraft/models.py": "draft"}, draft), out)
    (out / "vdraft" / "models.py").unlink()
    with pytest.raises(ProblemError) as caught:
        put(package({"__init__.py": "1"}, draft), out)
    assert codes(caught) == ["needs-schema"]


def test_a_file_is_no_output_folder(out: Path) -> None:
    out.write_text("")
    for use in (lambda: put(OLD, out), lambda: read_tree(out)):
        with pytest.raises(ProblemError) as caught:
            use()
        assert codes(caught) == ["not-a-folder"]


def test_the_folder_one_stands_in_is_not_replaced(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(OLD, out)
    monkeypatch.chdir(out / "v2025_11_25")
    with pytest.raises(ProblemError) as caught:
        put(NEW, out)
    assert codes(caught) == ["inside-output"]
