"""The processor time of `diff` and `new`, beside plain datamodel-codegen and a generation.

Whole commands are measured, each from its own start, as in `generating`.
"""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from .generating import CODEGEN, cache_in, codegen_run, fresh
from .places import environment, tool
from .rows import Row
from .timing import Action, command, interleave, spent_by_children

TOPIC = "keep-up"
ROUNDS = 9

_DIFF, _HTML, _NEW, _NEW_AGAIN, _CODEGEN = "diff", "html", "new", "new again", "codegen"
_OLDER, _NEWER = "2025-11-25", "2026-07-28"
_PACKAGE = "package"
# The package of a new server.
_OPTIONS = ("2025-06-18,2025-11-25,2026-07-28", "--with", "stdio,testing,toolkit")


def rows(rounds: int) -> Iterator[Row]:
    """Compare `diff` and `new` with one run of datamodel-codegen, and `new` with a generation."""
    with TemporaryDirectory() as folder:
        samples = interleave(_actions(Path(folder)), rounds, spent_by_children)
    spent = {name: median(taken) for name, taken in samples.items()}
    package = "processor time to generate its package"
    for what, name, peer, compared, goal in (
        (f"diff {_OLDER} {_NEWER}", _DIFF, CODEGEN, _CODEGEN, 0.20),
        ("the same, as a page of all revisions", _HTML, CODEGEN, _CODEGEN, None),
        ("new, a server", _NEW, package, _PACKAGE, 1.20),
        ("the same", _NEW, CODEGEN, _CODEGEN, 1.20),
        ("the same, again", _NEW_AGAIN, CODEGEN, _CODEGEN, 0.15),
    ):
        yield Row(TOPIC, what, spent[name], peer, spent[compared], goal)


def _actions(folder: Path) -> dict[str, Action]:
    diff: list[str | Path] = [tool("mcp-gen"), "diff", _OLDER, _NEWER]
    return {
        _DIFF: command(diff, folder, environment()),
        _HTML: command([*diff, "--format", "html"], folder, environment()),
        _NEW: _new(folder),
        _NEW_AGAIN: _new(folder, again=True),
        _PACKAGE: fresh(_OPTIONS, folder),
        _CODEGEN: codegen_run(folder),
    }


def _new(folder: Path, *, again: bool = False) -> Action:
    """Return an action that starts a project in a new folder each time."""
    numbers = count()

    def run() -> None:
        number = next(numbers)
        cache = cache_in(folder, "new", 0 if again else number + 1)
        name = f"project-{number}{'-again' * again}"
        command([tool("mcp-gen"), "new", name], folder, cache)()

    return run
