"""The lock: written sorted, read with suspicion."""

import json
import os
from pathlib import Path

import pytest
from mcp_protogen.canonical import sha256
from mcp_protogen.output.lock import LOCK_NAME, LockedFile, lock_file, lock_of, read_lock
from mcp_protogen.problems import ProblemError
from packages import INPUTS, faults, package, put

PACKAGE = package({"b.py": "b", "a/c.py": "c"})


@pytest.fixture
def written(tmp_path: Path) -> Path:
    put(PACKAGE, tmp_path / "pkg")
    return tmp_path / "pkg"


def test_a_folder_without_a_lock_has_none(tmp_path: Path) -> None:
    assert read_lock(tmp_path) is None
    assert read_lock(tmp_path / "nowhere") is None


def test_a_lock_reads_back_as_it_was_written(written: Path) -> None:
    assert read_lock(written) == lock_of(PACKAGE, {})


def test_files_are_listed_with_digest_and_origin(written: Path) -> None:
    lock = read_lock(written)
    assert lock is not None
    assert lock.files == {
        "a/c.py": LockedFile(sha256(b"c"), "test"),
        "b.py": LockedFile(sha256(b"b"), "test"),
    }


def test_files_of_kept_revisions_are_listed_too() -> None:
    kept = {"vdraft/models.py": LockedFile("f" * 64, "test")}
    assert list(lock_of(PACKAGE, kept).files) == ["a/c.py", "b.py", "vdraft/models.py"]


def test_the_text_is_sorted_and_the_same_each_time() -> None:
    text = lock_file(lock_of(PACKAGE, {})).content
    assert text == lock_file(lock_of(PACKAGE, {})).content
    assert text.decode() == json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n"


def test_a_lock_follows_its_published_format(written: Path) -> None:
    assert faults("lock", (written / LOCK_NAME).read_bytes()) == []


def test_no_version_of_a_library_is_in_a_lock(written: Path) -> None:
    data = json.loads((written / LOCK_NAME).read_text())
    assert data.keys() == {"format", "files"} | {*INPUTS.__slots__}


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x", "a/../../x", "", ".", "a/./b", "a\\..\\b", "C:\\x"]
)
def test_a_path_out_of_the_folder_is_refused(path: str, written: Path) -> None:
    data = json.loads((written / LOCK_NAME).read_text())
    data["files"][path] = {"sha256": "0" * 64, "origin": "evil"}
    (written / LOCK_NAME).write_text(json.dumps(data))
    with pytest.raises(ProblemError, match="bad-lock"):
        read_lock(written)


@pytest.mark.parametrize(
    "text",
    ["", "<<<<<<< HEAD\n{}", "[]", "{}", "null", '{"format": 2}', '{"format": 1, "files": 3}'],
)
def test_an_unusable_lock_is_one_problem_with_a_way_out(text: str, tmp_path: Path) -> None:
    (tmp_path / LOCK_NAME).write_text(text)
    with pytest.raises(ProblemError, match="bad-lock") as caught:
        read_lock(tmp_path)
    assert "--force" in caught.value.problems[0].hint


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="makes a named pipe")
def test_a_lock_that_is_no_regular_file_is_not_read(written: Path, tmp_path: Path) -> None:
    lock = written / LOCK_NAME
    lock.rename(tmp_path / "elsewhere")
    lock.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ProblemError, match=r"bad-lock.*not a regular file"):
        read_lock(written)
    lock.unlink()
    os.mkfifo(lock)
    with pytest.raises(ProblemError, match=r"bad-lock.*not a regular file"):
        read_lock(written)


def test_a_revision_that_is_no_folder_name_is_refused(written: Path) -> None:
    data = json.loads((written / LOCK_NAME).read_text())
    data["revisions"]["../x"] = data["revisions"].pop("2025-11-25")
    (written / LOCK_NAME).write_text(json.dumps(data))
    with pytest.raises(ProblemError, match="bad-lock"):
        read_lock(written)
