"""The package of the protocol in the cache: made once, whole or not at all, and forgotten."""

import errno
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen import generate
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.config import GenerationOptions
from mcp_protogen.connecting import protocol as module
from mcp_protogen.inputs.inputs import read_inputs
from mcp_protogen.package import GeneratedFile, GenerationInputs, Package
from support.revisions import NEWEST

OPTIONS = GenerationOptions((NEWEST,), parts=())
protocol: Any = module


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
    first, second = protocol._kept(OPTIONS), protocol._kept(OPTIONS)
    assert first == second
    assert [(path.name, path.read_text()) for path in first.rglob("*.py")] == [("__init__.py", "1")]
    assert [path.name for path in cache.iterdir()] == [first.name]


def test_what_was_not_used_for_long_goes_and_what_may_be_in_use_stays(cache: Path) -> None:
    others = [cache / f"protocol-{number}" for number in range(protocol._KEPT + 2)]
    unfinished, abandoned = cache / ".protocol-now", cache / ".protocol-then"
    for age, folder in enumerate((*others, unfinished, abandoned)):
        folder.mkdir()
        os.utime(folder, (1e9 - age, 1e9 - age))
    os.utime(unfinished)
    made = protocol._kept(OPTIONS)
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
    assert protocol._kept(OPTIONS).is_dir()


def test_without_room_in_the_cache_it_is_made_elsewhere_and_without_any_that_is_said(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    assert protocol._kept(OPTIONS) is None
    assert list(cache.iterdir()) == []
    with pytest.raises(ProblemError) as caught:
        protocol._temporary(OPTIONS)
    assert [problem.code for problem in caught.value.problems] == ["cannot-write"]


def test_a_folder_that_others_may_write_to_is_not_used(cache: Path) -> None:
    folder = protocol._kept(OPTIONS)
    folder.chmod(0o777)
    assert protocol._kept(OPTIONS) is None
    shutil.rmtree(folder)
