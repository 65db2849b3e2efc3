"""Several files as one: kills at each step of every writer, and foreign journals."""

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import pytest
from mcp_protogen.base import cache_entries as entries
from mcp_protogen.base import file_set
from mcp_protogen.base.canonical import sha256
from mcp_protogen.base.file_set import finish, hold_files, work_folder, write_files
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.instep.drafts import drafting
from mcp_protogen.instep.update.adoption import Origin, add
from mcp_protogen.instep.vectors import folder as vectors
from mcp_protogen.pipeline import templates
from mcp_protogen.pipeline.inputs.own_templates import STATEMENT, read_statement, statement_content
from mcp_protogen.pipeline.inputs.pins import load_pins, read_snapshot
from mcp_protogen.pipeline.reports.baseline import write_baseline
from mcp_protogen.scaffold import create as scaffold
from mcp_protogen.scaffold.choices import ProjectChoices, ProjectKind, ProjectTransport
from mcp_protogen.scaffold.project_name import project_name
from mcp_protogen.servers.clients import making as typed_client
from mcp_protogen.servers.clients.lock import lock_of, read_client_lock
from mcp_protogen.servers.clients.making import causes, write
from support.killing import kills, record_syncs
from support.typed_clients.contracts import contract_of, lock_for, tool
from support.unit.packages import NEW, codes, contents

REVISION = "2030-01-01"


def make_folder(folder: Path) -> None:
    folder.mkdir()


class Writer(NamedTuple):
    """A command that writes several files into a folder, and their reader."""

    begin: Callable[[Path], object]
    work: Callable[[Path], object]
    read: Callable[[Path], object] = lambda _: None


def client(tools: Iterable[str], folder: Path) -> None:
    """Write a typed client for a server with these tools."""
    write(lock_for(contract_of(*map(tool, tools))), folder / "weather.py", force=False)


def read_client(folder: Path) -> None:
    """Read a typed client; it never seems edited."""
    module = folder / "weather.py"
    lock = read_client_lock(lock_of(module))
    assert lock is None or [*causes(lock, module)] == []


def pin(kind: str, folder: Path) -> None:
    """Pin a publication of a revision."""
    add(REVISION, b'{"$defs": {"A": {"type": "%s"}}}' % kind.encode(), Origin(), "a.json", folder)


def old_templates(folder: Path) -> None:
    """Leave two templates as an older version has exported them."""
    old = dict.fromkeys(TEMPLATES, b"old")
    digests = {name: sha256(content) for name, content in old.items()}
    write_files({folder / STATEMENT: statement_content(digests)})
    write_files({folder / name: content for name, content in old.items()})


def old_draft(folder: Path) -> None:
    """Leave pins, and files of an older draft."""
    pin("integer", folder)
    paths = ("descriptions.json", f"{REVISION}/facts.json")
    write_files({folder / path: b"{}" for path in paths})


def draft(revision: str, folder: Path) -> drafting.Draft:
    """Return a draft of three files, in place of one that takes seconds."""
    paths = (f"{revision}/facts.json", "descriptions.json", f"{revision}/patches.json")
    return drafting.Draft({}, {path: {"text": {"a": path}} for path in paths}, (), ())


def keep(content: bytes, folder: Path) -> None:
    """Keep an entry in a cache."""
    os.environ[entries.VARIABLE] = str(folder)
    entries.write_entry(ENTRY, content, "shelf")


def read_kept(folder: Path) -> None:
    """Read an entry, which must be complete."""
    assert entries.read_entry(ENTRY, "shelf") in (b"old", b"new")


def write_known(folder: Path) -> None:
    """Write a baseline without findings."""
    write_baseline(folder / "known.json", REVISION, ())


def put_vectors(names: Iterable[str], folder: Path) -> None:
    """Write files of vectors, different ones if there are more."""
    content = b'{"format": %d, "vectors": []}' % len([*names])
    vectors.write(folder, dict.fromkeys(names, content))


def returning(value: object) -> Callable[..., object]:
    """Return a function that always returns this value."""
    return lambda *_, **__: value


def create(folder: Path) -> None:
    """Make a new project, unless an earlier run has made it."""
    try:
        scaffold.create(CHOICES, folder)
    except ProblemError as error:
        assert [problem.code for problem in error.problems] == ["folder-not-empty"]


CHOICES = ProjectChoices(
    project_name("clock"), ProjectKind.SERVER, ProjectTransport.STDIO, "2026-07-28", ("2026-07-28",)
)
ENTRY = "0" * 64
TEMPLATES = ("app.py.jinja", "client.py.jinja")
WRITERS: Mapping[str, Writer] = {
    "client": Writer(partial(client, ("a",)), partial(client, ("a", "b")), read_client),
    "draft": Writer(old_draft, partial(drafting.write, REVISION), load_pins),
    "templates": Writer(old_templates, partial(templates.export, TEMPLATES), read_statement),
    "pins": Writer(
        partial(pin, "integer"), partial(pin, "string"), partial(read_snapshot, REVISION)
    ),
    "cache": Writer(partial(keep, b"old"), partial(keep, b"new"), read_kept),
    "baseline": Writer(make_folder, write_known),
    "project": Writer(make_folder, create),
    "vectors": Writer(
        partial(put_vectors, ("a.json",)), partial(put_vectors, ("a.json", "b.json"))
    ),
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked children")
@pytest.mark.parametrize("name", WRITERS)
def test_kill_at_any_step_leaves_old_or_new_files_to_the_next_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(entries.VARIABLE, "")
    monkeypatch.setattr(drafting, "draft", draft)
    monkeypatch.setattr(scaffold, "make_package", returning(NEW))
    monkeypatch.setattr(scaffold, "project_files", returning({"README.md": b"new"}))
    monkeypatch.setattr(os, "fsync", returning(None))  # a kill loses nothing that was written
    begin, work, read = WRITERS[name]
    folder = tmp_path / "files"

    def restart() -> None:
        for path in tmp_path.iterdir():
            shutil.rmtree(path)
        begin(folder)

    restart()
    old = contents(folder)
    work(folder)
    new, seen = contents(folder), list[bool]()
    assert old != new
    for step in kills(restart, lambda: work(folder)):
        if step:
            finish_by_reading(folder, read, old, new)
        seen.append(_visible(folder) == new)
        work(folder)
        assert contents(folder) == new
        assert [path.name for path in tmp_path.iterdir()] == ["files"]
    assert len(seen) > 10
    assert {*seen} == {False, True}


def finish_by_reading(
    folder: Path, read: Callable[[Path], object], old: Mapping[str, Any], new: Mapping[str, Any]
) -> None:
    """Read the files as the next run does, which finds all old or all new."""
    try:
        read(folder)
    except ProblemError as error:
        assert [problem.code for problem in error.problems] == ["bad-pins"]
    assert _visible(folder) in (old, new)


def _visible(folder: Path) -> Mapping[str, bytes | None]:
    """Return the files of a folder, apart from what a killed run has left beside them."""
    return {
        path: content
        for path, content in contents(folder).items()
        if not any(part.endswith(".mcp-gen") for part in Path(path).parts)
    }


@pytest.fixture
def pair(tmp_path: Path) -> dict[Path, bytes]:
    """Two new files: the first replaces an old one, the second is in a folder."""
    (tmp_path / "a").write_bytes(b"old")
    return {tmp_path / "a": b"new", tmp_path / "sub" / "b": b"new"}


def leave_journal(pair: Mapping[Path, bytes], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write files in a run that stops after step 3; return the work folder."""

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    lead = next(iter(pair))
    with monkeypatch.context() as patch:
        patch.setattr(file_set.FileSet, "_put_in_place", stop)
        with pytest.raises(KeyboardInterrupt):
            write_files(pair)
    return work_folder(lead)


def test_files_and_their_names_are_on_the_disk_before_the_next_step(
    pair: Mapping[Path, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = ".a.mcp-gen"
    staged = {f"{work}/staged{path}" for path in ("", "/a", "/sub", "/sub/b")}
    synced = record_syncs(tmp_path, monkeypatch)
    write_files(pair)
    assert synced == [staged, {work}, set(), {".", "sub"}]


def test_reader_finishes_decided_files(
    pair: Mapping[Path, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_journal(pair, monkeypatch)
    assert (tmp_path / "a").read_bytes() == b"old"
    finish(tmp_path / "a")
    assert contents(tmp_path) == {"a": b"new", "sub": None, "sub/b": b"new"}


def test_file_that_cannot_be_replaced_leaves_all_old(
    pair: Mapping[Path, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def refuse(source: Path, destination: Path) -> None:
        if destination.name == "b" and source.parent.parent.name == "new":
            raise PermissionError(errno.EACCES, "Permission denied", str(destination))
        replace(source, destination)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(ProblemError) as caught:
        write_files(pair)
    assert codes(caught) == ["cannot-write"]
    assert caught.value.problems[0].place == str(tmp_path / "sub" / "b")
    assert contents(tmp_path) == {"a": b"old", "sub": None}
    monkeypatch.undo()
    write_files(pair)
    assert contents(tmp_path) == {"a": b"new", "sub": None, "sub/b": b"new"}


def test_kill_while_old_files_return_leaves_all_old_or_all_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, lead = os.replace, tmp_path / "a"
    files = dict.fromkeys((tmp_path / "new", tmp_path / "sub" / "b", lead), b"new")
    refused = [lead]

    def refuse(source: Path, destination: Path) -> None:
        if destination in refused and source.parent.name == "new":
            raise PermissionError(errno.EACCES, "Permission denied", str(destination))
        replace(source, destination)

    def restart() -> None:
        for path in (work_folder(lead), tmp_path / "sub"):
            shutil.rmtree(path, ignore_errors=True)
        (tmp_path / "new").unlink(missing_ok=True)
        lead.write_bytes(b"old")
        refused[:] = [lead]

    def write() -> None:
        with pytest.raises(ProblemError):
            write_files(files, lead)

    monkeypatch.setattr(os, "replace", refuse)
    seen = set[bytes | None]()
    for _ in kills(restart, write):
        refused.clear()
        write_files({}, lead)
        state = {path: content for path, content in contents(tmp_path).items() if content}
        assert state in ({"a": b"old"}, {"a": b"new", "new": b"new", "sub/b": b"new"})
        seen.add(state["a"])
    assert seen == {b"old", b"new"}


def test_folder_in_place_of_file_leaves_all_old(pair: Mapping[Path, bytes], tmp_path: Path) -> None:
    (tmp_path / "sub" / "b").mkdir(parents=True)
    with pytest.raises(ProblemError) as caught:
        write_files(pair)
    assert codes(caught) == ["cannot-write"]
    assert contents(tmp_path) == {"a": b"old", "sub": None, "sub/b": None}


@pytest.mark.parametrize("place", ["new", "new/sub", "new/a", "new/more", "sub"])
def test_journal_with_link_is_refused(
    place: str, pair: Mapping[Path, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, outside = tmp_path / "in", tmp_path / "out"
    for made in (folder, outside):
        made.mkdir()
    (outside / "b").write_bytes(b"mine")
    work = leave_journal({folder / "a": b"new", folder / "sub" / "b": b"new"}, monkeypatch)
    link = folder / "sub" if place == "sub" else work / place
    if link.is_dir():
        shutil.rmtree(link)
    link.unlink(missing_ok=True)
    link.symlink_to(outside)
    for _ in range(2):
        with pytest.raises(ProblemError) as caught:
            finish(folder / "a")
        assert codes(caught) == ["foreign-file"]
    with pytest.raises(ProblemError) as caught:
        write_files({folder / "a": b"newer"})
    assert codes(caught) == ["foreign-file"]
    assert contents(outside) == {"b": b"mine"}
    assert not (folder / "a").exists()


def test_journal_of_another_user_is_refused(
    pair: Mapping[Path, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = leave_journal(pair, monkeypatch) / "new"
    lstat = Path.lstat

    def of_another(path: Path) -> os.stat_result:
        fields = [*lstat(path)]
        fields[stat.ST_UID] += path == journal
        return os.stat_result(fields)

    monkeypatch.setattr(Path, "lstat", of_another)
    with pytest.raises(ProblemError) as caught:
        finish(tmp_path / "a")
    assert codes(caught) == ["foreign-file"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_work_folder_of_another_user_is_refused(
    pair: Mapping[Path, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = work_folder(tmp_path / "a")
    work.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(ProblemError) as caught:
        write_files(pair)
    assert codes(caught) == ["cannot-write"]
    assert contents(tmp_path) == {"a": b"old", work.name: None}


def test_file_outside_the_folder_is_not_written(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    for outside in (tmp_path / "b", folder / ".." / "b", folder / "link" / "b"):
        with pytest.raises(ProblemError) as caught:
            write_files({folder / "a": b"", outside: b""})
        assert codes(caught) == ["cannot-write"]
    assert contents(tmp_path) == {"in": None, "in/link": None}


def test_file_on_system_without_hard_links_is_copied_back(
    pair: Mapping[Path, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", cannot)
    test_file_that_cannot_be_replaced_leaves_all_old(pair, tmp_path, monkeypatch)


def test_second_run_waits_for_first(pair: Mapping[Path, bytes], tmp_path: Path) -> None:
    lead = tmp_path / "a"
    with ThreadPoolExecutor(1) as pool:
        with hold_files(lead) as files:
            second = pool.submit(write_files, pair)
            files.write({lead: b"first"})
            assert lead.read_bytes() == b"first"
        second.result()
    assert contents(tmp_path) == {"a": b"new", "sub": None, "sub/b": b"new"}


def test_client_that_another_run_is_writing_is_not_taken_for_edited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, is_made = tmp_path / "weather.py", Event()
    original = typed_client.build_module

    def make(*given: Any) -> Any:
        done = original(*given)
        is_made.set()
        return done

    (tmp_path / "after").mkdir()
    client(("after",), tmp_path / "after")
    client(("before",), tmp_path)
    monkeypatch.setattr(typed_client, "build_module", make)
    with ThreadPoolExecutor(1) as pool:
        with hold_files(module):
            shutil.copy(tmp_path / "after" / module.name, module)
            second = pool.submit(client, ("last",), tmp_path)
            is_made.wait()
            with pytest.raises(TimeoutError):
                second.result(0.1)
            shutil.copy(lock_of(tmp_path / "after" / module.name), lock_of(module))
        second.result()
    read_client(tmp_path)
    assert "last" in module.read_text()
