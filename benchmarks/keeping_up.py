"""The time of `diff` and `new`, beside plain datamodel-codegen.

Whole commands are timed, each from its own start, as in `generating`.
"""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from .generating import cache_in, codegen_run
from .places import REVISION, environment, tool
from .rows import Row
from .timing import Action, command, interleave

TOPIC = "keep-up"
ROUNDS = 9

_DIFF, _HTML, _NEW, _NEW_AGAIN, _CODEGEN = "diff", "html", "new", "new again", "codegen"
_OLDER, _NEWER = "2025-11-25", "2026-07-28"


def rows(rounds: int) -> Iterator[Row]:
    """Compare `diff` and `new` with one run of datamodel-codegen."""
    with TemporaryDirectory() as folder:
        samples = interleave(_actions(Path(folder)), rounds)
    times = {name: median(taken) for name, taken in samples.items()}
    one = "datamodel-codegen, one run"
    yield Row(TOPIC, f"diff {_OLDER} {_NEWER}", times[_DIFF], one, times[_CODEGEN], 0.20)
    yield Row(
        TOPIC, "the same, as a page of all revisions", times[_HTML], one, times[_CODEGEN], None
    )
    yield Row(TOPIC, "new, a server", times[_NEW], one, times[_CODEGEN], 1.00)
    yield Row(TOPIC, "the same, again", times[_NEW_AGAIN], one, times[_CODEGEN], 0.15)


def _actions(folder: Path) -> dict[str, Action]:
    diff: list[str | Path] = [tool("mcp-gen"), "diff", _OLDER, _NEWER]
    return {
        _DIFF: command(diff, folder, environment()),
        _HTML: command([*diff, "--format", "html"], folder, environment()),
        _NEW: _new(folder),
        _NEW_AGAIN: _new(folder, again=True),
        _CODEGEN: codegen_run(REVISION, folder),
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
