"""The package of the protocol in the cache: made once, whole or not at all, and forgotten."""

import errno
import os
import stat
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.cli import console
from mcp_protogen.pipeline import generate
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.inputs.inputs import read_inputs
from mcp_protogen.pipeline.output import workspace
from mcp_protogen.pipeline.package import GeneratedFile, GenerationInputs, Package
from mcp_protogen.servers.bridge import logs
from mcp_protogen.servers.connect import protocol as module
from support.revisions import NEWEST
from support.running import Run
from support.tables import case

OPTIONS = GenerationOptions((NEWEST,), parts=())
COMMANDS = (
    "list server.py",
    "call server.py tool",
    "read server.py memo://today",
    "prompt server.py name",
    "client server.py --out made.py",
    "diff made.lock --server server.py",
    "bridge --to server.py",
)
protocol: Any = module
MAKE = partial(protocol._generate, OPTIONS, nullcontext)


def kept(make: partial[Any] = MAKE) -> Any:
    """The folder of the package in the cache."""
    return protocol._kept(OPTIONS, make)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of caches, and packages of one file."""
    made: list[int] = []

    def small(options: GenerationOptions) -> Package:
        made.append(1)
        file = GeneratedFile("v/__init__.py", str(len(made)).encode(), "test")
        inputs: GenerationInputs = read_inputs(options)
        return Package((file,), inputs, ())

    monkeypatch.setattr(generate, "generate", small)
    monkeypatch.setenv("MCP_GEN_CACHE", str(tmp_path))
    return tmp_path


def test_it_is_made_once(cache: Path) -> None:
    first, second = kept(), kept()
    assert first == second
    assert [(path.name, path.read_text()) for path in first.rglob("*.py")] == [("__init__.py", "1")]
    assert [path.name for path in cache.iterdir()] == [first.name]


def test_whoever_waits_for_it_is_told_and_nobody_else(
    cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "mcp_protogen.servers.connect")
    told: list[str] = []

    @contextmanager
    def making() -> Generator[None, None, None]:
        told.append("begin")
        yield
        told.append("end")

    for _ in range(2):
        kept(partial(protocol._generate, OPTIONS, making))
        assert (told, len(caplog.records)) == (["begin", "end"], 1)


def test_every_command_that_connects_says_that_it_is_made(
    cache: Path, monkeypatch: pytest.MonkeyPatch, mcp_gen: Run
) -> None:
    def no_generator(options: GenerationOptions) -> Package:
        raise ProblemError(Problem("internal-fault", "made"))

    def interactive(stream: object) -> bool:
        return True

    def no_log(*_: object) -> None:
        """Leave the log of the tests alone."""

    monkeypatch.setattr(generate, "generate", no_generator)
    monkeypatch.setattr(console, "_interactive", interactive)
    monkeypatch.setattr(logs, "begin_log", no_log)
    monkeypatch.delitem(sys.modules, module.NAME, raising=False)
    for command in COMMANDS:
        with case(command):
            ran = mcp_gen(*command.split())
            assert ran.code == 2 and "made" in ran.err
            assert ran.err.startswith("preparing") and ran.err.count("preparing") == 1


def test_what_cannot_be_imported_is_not_taken_for_the_package_later(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(options: GenerationOptions) -> Package:
        file = GeneratedFile("__init__.py", b"import that_is_not_there", "test")
        return Package((file,), read_inputs(options), ())

    monkeypatch.setattr(generate, "generate", broken)
    monkeypatch.delitem(sys.modules, module.NAME, raising=False)
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="that_is_not_there"):
            module.protocol()


def test_what_was_not_used_for_long_goes_and_what_may_be_in_use_stays(cache: Path) -> None:
    others = [cache / f"protocol-{number}" for number in range(protocol._KEPT + 2)]
    unfinished, abandoned = cache / ".protocol-now", cache / ".protocol-then"
    for age, folder in enumerate((*others, unfinished, abandoned)):
        folder.mkdir()
        os.utime(folder, (1e9 - age, 1e9 - age))
    os.utime(unfinished)
    made = kept()
    stay = {made, unfinished, *others[: protocol._KEPT - 1]}
    assert set(cache.iterdir()) == stay


def test_a_folder_that_another_run_removes_meanwhile_is_no_fault(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real: Any = Path.glob

    def glob(folder: Path, pattern: str, **how: Any) -> Iterable[Path]:
        if (folder, pattern) == (cache, "protocol-*"):
            return [cache / "protocol-gone"]
        found: Iterable[Path] = real(folder, pattern, **how)
        return found

    monkeypatch.setattr(Path, "glob", glob)
    assert kept().is_dir()


def test_without_room_in_the_cache_it_is_made_elsewhere_and_without_any_that_is_said(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(workspace, "write_new", full)
    monkeypatch.setattr(Path, "write_bytes", full)
    assert kept() is None
    assert list(cache.iterdir()) == []
    with pytest.raises(ProblemError) as caught:
        protocol._temporary(MAKE)
    assert [problem.code for problem in caught.value.problems] == ["cannot-write"]


def test_folder_that_others_can_write_or_exchange_is_not_used(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_GEN_CACHE", str(tmp_path / "above" / "cache"))
    folder = kept()
    for place, mode in (
        (folder, 0o777),
        (folder, 0o720),
        (folder.parent, 0o777),
        (folder.parent, 0o720),
        (folder.parent.parent, 0o777),
        (folder.parent.parent, 0o757),
    ):
        with case(f"{place} {mode:o}"):
            place.chmod(mode)
            assert kept() is None
            place.chmod(0o700)
            assert kept() == folder
    folder.parent.parent.chmod(0o1777)  # like /tmp, where only owners rename files
    assert kept() == folder


def test_folder_below_one_of_another_user_is_not_used(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kept() is not None
    lstat = Path.lstat

    def of_another(path: Path) -> os.stat_result:
        found = lstat(path)
        fields = [*found]
        fields[stat.ST_UID] = os.getuid() + 1
        return os.stat_result(fields) if path == cache.parent else found

    monkeypatch.setattr(Path, "lstat", of_another)
    assert kept() is None
