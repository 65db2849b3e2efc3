"""The lock: written sorted, read with suspicion."""

import json
import os
from pathlib import Path

import pytest
from mcp_protogen.base.canonical import sha256
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.output.lock import LOCK_NAME, LockedFile, lock_file, lock_of, read_lock
from mcp_protogen.pipeline.package import newer
from support import formats
from support.unit.packages import INPUTS, package, put

PACKAGE = package({"b.py": "b", "a/c.py": "c"})


@pytest.fixture
def package_folder(tmp_path: Path) -> Path:
    put(PACKAGE, tmp_path / "pkg")
    return tmp_path / "pkg"


def test_a_folder_without_a_lock_has_none(tmp_path: Path) -> None:
    assert read_lock(tmp_path) is None
    assert read_lock(tmp_path / "nowhere") is None


def test_a_lock_reads_back_as_it_was_written(package_folder: Path) -> None:
    lock = read_lock(package_folder)
    assert lock is not None and lock == lock_of(PACKAGE, {})
    assert lock.files == {
        "a/c.py": LockedFile(sha256(b"c"), "test"),
        "b.py": LockedFile(sha256(b"b"), "test"),
    }
    text = (package_folder / LOCK_NAME).read_bytes()
    assert formats.faults("lock", text) == []
    # No version of a library is in it.
    assert json.loads(text).keys() == {"format", "files"} | {*INPUTS._fields} - {"extensions"}


def test_files_of_kept_revisions_are_listed_too() -> None:
    kept = {"vdraft/models.py": LockedFile("f" * 64, "test")}
    assert list(lock_of(PACKAGE, kept).files) == ["a/c.py", "b.py", "vdraft/models.py"]


def test_the_text_is_sorted_and_the_same_each_time() -> None:
    text = lock_file(lock_of(PACKAGE, {})).content
    assert text == lock_file(lock_of(PACKAGE, {})).content
    assert text.decode() == json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n"


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x", "a/../../x", "", ".", "a/./b", "a\\..\\b", "C:\\x"]
)
def test_a_path_out_of_the_folder_is_refused(path: str, package_folder: Path) -> None:
    data = json.loads((package_folder / LOCK_NAME).read_text())
    data["files"][path] = {"sha256": "0" * 64, "origin": "evil"}
    (package_folder / LOCK_NAME).write_text(json.dumps(data))
    with pytest.raises(ProblemError, match="bad-lock"):
        read_lock(package_folder)


@pytest.mark.parametrize(
    "text",
    ["", "{} <<<<<<< HEAD", "[]", "{}", "null", '{"format": 0}', '{"format": 1, "files": 3}'],
)
def test_an_unusable_lock_is_one_problem_with_a_way_out(text: str, tmp_path: Path) -> None:
    (tmp_path / LOCK_NAME).write_text(text)
    with pytest.raises(ProblemError, match="bad-lock") as caught:
        read_lock(tmp_path)
    assert "--force" in caught.value.problems[0].hint


def test_marks_of_a_merge_are_told_with_what_resolves_them(tmp_path: Path) -> None:
    for text in ("<<<<<<< HEAD\n{}", "{\n<<<<<<< ours\n=======\n>>>>>>> theirs\n}\n"):
        (tmp_path / LOCK_NAME).write_text(text)
        with pytest.raises(ProblemError, match=r"merge-conflict.*mcp-gen\.lock") as caught:
            read_lock(tmp_path)
        assert f"git checkout --ours -- {tmp_path}" in caught.value.problems[0].hint
        assert f"mcp-gen sync {tmp_path}" in caught.value.problems[0].hint


def test_a_lock_of_a_later_version_says_which_one_is_needed(package_folder: Path) -> None:
    data = json.loads((package_folder / LOCK_NAME).read_text())
    entry = {"sha256": "0" * 64, "origin": "test", "more": 1}
    later = {"generator": "mcp-gen 9.10.1", "files": {"a.py": entry}}
    for changed, needed in (
        ({"format": 2}, "mcp-gen 1"),
        ({"format": 2, "generator": "mcp-gen 9.10.1"}, "mcp-gen 9.10.1"),
        (later, "mcp-gen 9.10.1"),
        ({"generator": "mcp-gen 9.10.1", "options": {"with": ["grpc"]}}, "mcp-gen 9.10.1"),
    ):
        (package_folder / LOCK_NAME).write_text(json.dumps(data | changed))
        with pytest.raises(ProblemError, match=f"newer-lock.*{needed} wrote it: ") as caught:
            read_lock(package_folder)
        assert caught.value.problems[0].hint.startswith(f"use {needed}, ")
    for writer in ("mcp-gen 0.0.1", "mcp-gen", "other 9", 9):
        for strange in (later, {"options": {"with": 3}}, {"options": {"with": ["grpc", "all"]}}):
            lock = data | strange | {"generator": writer}
            (package_folder / LOCK_NAME).write_text(json.dumps(lock))
            with pytest.raises(ProblemError, match="bad-lock"):
                read_lock(package_folder)


def test_versions_are_compared_as_numbers() -> None:
    for generator, than in (("1.10", "1.9"), ("1", "0.9.9"), ("1.0.1", "1"), ("2rc1", "1.5")):
        assert newer(f"mcp-gen {generator}", f"mcp-gen {than}")
        assert not newer(f"mcp-gen {than}", f"mcp-gen {generator}")
    assert not newer("mcp-gen 1.0", "mcp-gen 1") and not newer("mcp-gen 1", "mcp-gen 1.0")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="makes a named pipe")
def test_a_lock_that_is_no_regular_file_is_not_read(package_folder: Path, tmp_path: Path) -> None:
    lock = package_folder / LOCK_NAME
    lock.rename(tmp_path / "elsewhere")
    lock.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ProblemError, match=r"bad-lock.*not a regular file"):
        read_lock(package_folder)
    for make in (os.mkfifo, os.mkdir):
        lock.unlink()
        make(lock)
        with pytest.raises(ProblemError, match=r"bad-lock.*not a regular file"):
            read_lock(package_folder)


def test_a_revision_that_is_no_folder_name_is_refused(package_folder: Path) -> None:
    data = json.loads((package_folder / LOCK_NAME).read_text())
    data["revisions"]["../x"] = data["revisions"].pop("2025-11-25")
    (package_folder / LOCK_NAME).write_text(json.dumps(data))
    with pytest.raises(ProblemError, match="bad-lock"):
        read_lock(package_folder)
