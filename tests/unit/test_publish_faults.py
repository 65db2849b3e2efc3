"""Publishing under fire: kills at every step, full disks, missing rights, several runs at once."""

import ctypes
import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mcp_protogen.base import folder_lock
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.output import exchange as exchange_module
from mcp_protogen.pipeline.output import workspace
from mcp_protogen.pipeline.output.publish import publish
from mcp_protogen.pipeline.output.workspace import exclusive
from support.killing import kills, record_syncs
from support.missing import skip_untested
from support.unit.packages import LATER, NEW, OLD, beside, codes, contents, package, put


def cannot(*_: Path) -> bool:
    """A system without atomic exchange."""
    return False


def test_a_second_run_waits_for_the_first(out: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        with exclusive(out) as space:
            second = pool.submit(put, NEW, out)
            publish(OLD, space)
        second.result()
    assert (out / "__init__.py").read_text() == "new"
    assert beside(out) == ["pkg"]


def test_many_runs_at_once_leave_one_whole_package(out: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        for run in [pool.submit(put, made, out) for made in (OLD, NEW) * 8]:
            run.result()
    now = contents(out)
    put(OLD, out)
    old = contents(out)
    put(NEW, out)
    assert now in (old, contents(out))
    assert beside(out) == ["pkg"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_run_of_another_process_is_waited_for_and_its_workers_are_not(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    run = os.fork()
    if not run:
        with exclusive(out):
            worker = os.fork()
            if worker:
                os.write(writing, str(worker).encode())
            signal.pause()
    worker = int(os.read(reading, 20))
    try:
        monkeypatch.setattr(folder_lock, "WAIT_SECONDS", 0.1)
        try:
            with pytest.raises(ProblemError, match="folder-busy"):
                put(OLD, out)
        finally:
            os.kill(run, signal.SIGKILL)
            os.waitpid(run, 0)
        monkeypatch.setattr(folder_lock, "WAIT_SECONDS", 20.0)
        put(OLD, out)
    finally:
        os.kill(worker, signal.SIGKILL)
        os.close(reading)
        os.close(writing)
    assert beside(out) == ["pkg"]


def test_a_run_that_waited_too_long_says_so(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_lock, "WAIT_SECONDS", 0.0)
    with pytest.raises(ProblemError) as caught:
        put(OLD, out)
    assert codes(caught) == ["folder-busy"]


def test_missing_rights_are_one_problem(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, **_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    put(OLD, out)
    before = contents(out)
    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(ProblemError) as caught:
        put(NEW, out)
    assert codes(caught) == ["cannot-write"]
    assert contents(out) == before


def test_a_failed_second_rename_is_taken_back(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(OLD, out)
    before = contents(out)
    rename, renamed = os.rename, list[str]()

    def fail_once(source: Path, destination: Path) -> None:
        renamed.append(Path(source).name)
        if len(renamed) == 2:
            raise PermissionError(errno.EACCES, "Permission denied", str(source))
        rename(source, destination)

    monkeypatch.setattr(workspace, "exchange", cannot)
    monkeypatch.setattr(os, "rename", fail_once)
    with pytest.raises(ProblemError) as caught:
        put(NEW, out)
    assert codes(caught) == ["cannot-write"]
    assert contents(out) == before


def test_new_package_is_on_the_disk_before_it_is_in_place(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    with_mine(out)
    monkeypatch.setattr(workspace, "exchange", cannot)
    monkeypatch.setattr(os, "link", refuse)
    synced = record_syncs(out.parent, monkeypatch)
    put(NEW, out)
    new = Path(".pkg.mcp-gen", "new")
    assert synced == [{str(new), *(str(new / path) for path in contents(out))}, set(), {"."}]


def test_files_saved_during_swap_are_kept(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exchange = exchange_module.exchange

    def save_first(staged: Path, destination: Path) -> bool:
        (destination / "new.txt").write_text("just made")
        (destination / "made" / "below").mkdir(parents=True)
        (destination / "made" / "below" / "new.txt").write_text("just made")
        (destination / "saving").write_text("just saved")
        os.replace(destination / "saving", destination / "mine.txt")
        return exchange(staged, destination)

    put(OLD, out)
    (out / "mine.txt").write_text("before")
    monkeypatch.setattr(workspace, "exchange", save_first)
    put(NEW, out)
    assert (out / "mine.txt").read_text() == "just saved"
    assert (out / "new.txt").read_text() == "just made"
    assert (out / "made" / "below" / "new.txt").read_text() == "just made"


def test_leftovers_that_cannot_be_removed_are_a_warning(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    put(OLD, out)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", refuse)
        outcome = put(NEW, out)
    assert [problem.code for problem in outcome.warnings] == ["leftover-files"]
    assert (out / "__init__.py").read_text() == "new"
    put(OLD, out)
    assert beside(out) == ["pkg"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for one package and not for two."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode:
        skip_untested("rights to mount a small disk", "what a full disk leaves behind")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a tmpfs")
class TestOnASmallDisk:
    """Cases that need a real file system."""

    def test_a_full_disk_leaves_the_old_package(self, small_disk: Path) -> None:
        out = small_disk / "pkg"
        put(package({"a.py": "x" * 20_000}), out)
        before = contents(small_disk)
        with pytest.raises(ProblemError, match="No space left") as caught:
            put(package({"a.py": "y" * 60_000}, LATER), out)
        assert codes(caught) == ["cannot-write"]
        assert contents(small_disk) == before

    def test_a_full_disk_leaves_nothing_of_a_first_package(self, small_disk: Path) -> None:
        with pytest.raises(ProblemError):
            put(package({"a/b.py": "y" * 100_000}), small_disk / "new" / "pkg")
        assert contents(small_disk) == {}

    def test_a_mount_point_is_refused(self, small_disk: Path) -> None:
        with pytest.raises(ProblemError) as caught:
            put(OLD, small_disk)
        assert codes(caught) == ["cannot-write"]
        assert contents(small_disk) == {}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked children")
@pytest.mark.parametrize("atomic", [True, False], ids=["exchange", "two renames"])
@pytest.mark.parametrize("first", [False, True], ids=["later run", "first run"])
def test_a_kill_at_any_step_leaves_the_old_or_the_new_package(
    out: Path, monkeypatch: pytest.MonkeyPatch, atomic: bool, first: bool
) -> None:
    ctypes.CDLL(None)  # loaded once for all children
    if not atomic:
        monkeypatch.setattr(workspace, "exchange", cannot)
    start = publish_nothing if first else with_mine
    start(out)
    old = contents(out)
    put(NEW, out)
    new = contents(out)
    last, seen = 0, set[str]()

    def restart() -> None:
        for path in out.parent.iterdir():
            shutil.rmtree(path)
        start(out)

    for step in kills(restart, lambda: put(NEW, out)):
        now = contents(out) if out.exists() else {}
        assert now in (old, new) or (not atomic and not out.exists())
        seen.add("old" if now == old else "new" if now == new else "none")
        put(NEW, out)
        assert contents(out) == new
        assert beside(out) == ["pkg"]
        last = step or last
    assert last > 20
    assert seen >= {"old", "new"}
    assert atomic or first or "none" in seen


def publish_nothing(out: Path) -> None:
    """No package at all."""


def with_mine(out: Path) -> None:
    """The old package with a file of the user's in it."""
    put(OLD, out)
    (out / "v2025_11_25" / "mine.txt").write_text("mine")


def test_a_link_in_place_of_the_work_folder_is_not_followed(out: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "old").mkdir(parents=True)
    (elsewhere / "old" / "thesis").write_text("mine")
    work = out.parent / ".pkg.mcp-gen"
    work.symlink_to(elsewhere)
    with pytest.raises(ProblemError, match="cannot-write"):
        put(NEW, out)
    assert (elsewhere / "old" / "thesis").read_text() == "mine"
    work.unlink()
    work.mkdir()
    (work / "lock").symlink_to(tmp_path / "made")
    with pytest.raises(ProblemError, match="cannot-write"):
        put(NEW, out)
    assert not (tmp_path / "made").exists()


def test_links_in_the_work_folder_become_no_package(out: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "thesis").write_text("mine")
    work = out.parent / ".pkg.mcp-gen"
    for link, folder in (("new", "old"), ("old", "new")):
        (work / folder).mkdir(parents=True)
        (work / link).symlink_to(elsewhere)
        with exclusive(out):
            assert not os.path.lexists(out)
        assert beside(out) == []
    assert contents(elsewhere) == {"thesis": b"mine"}
