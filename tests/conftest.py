"""What several test folders need: the published schemas, and a command line run in process."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from running import Ran

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Reference material that is kept beside the checkout and is no part of it."""
    if not SHARED.is_dir():
        pytest.skip("NOT TESTED: the reference folder ../shared is not beside this checkout")
    return SHARED


@pytest.fixture(scope="session")
def published(shared: Path) -> Callable[[str], bytes]:
    """The published bytes of a revision."""
    return lambda revision: (shared / "published" / f"{revision}.schema.json").read_bytes()


@pytest.fixture
def mcp_gen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Ran]:
    """Runs `mcp-gen` with arguments, in a folder of its own that is the working directory."""
    from mcp_protogen.cli import main

    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["mcp-gen", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        output = capsys.readouterr()
        code = ended.value.code
        return Ran(code if isinstance(code, int) else 0, output.out, output.err)

    return run


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A place for an output folder, with nothing else beside it."""
    (tmp_path / "place").mkdir()
    return tmp_path / "place" / "pkg"
