"""The processor time to generate, beside plain datamodel-codegen on the published schema.

Whole commands are measured, with all their processes, each from its own start and, unless a row
says "again", with an empty cache. Machines are seldom quiet, so the time on a clock says little.
datamodel-codegen is the library under this project, from the same environment and at its defaults.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from .places import REVISION, ROOT, environment, published_schema, revisions, tool
from .rows import Row
from .timing import Action, command, interleave, spent_by_children

TOPIC = "generate"
ROUNDS = 7

CODEGEN = "processor time of datamodel-codegen"
_ONE, _ALL, _CHECK, _ONE_AGAIN, _ALL_AGAIN = "one", "all", "check", "one again", "all again"
_PLAIN = "codegen"


def rows(rounds: int) -> Iterator[Row]:
    """Compare writing one revision and all of them, for the first time and again, and checking."""
    with TemporaryDirectory() as folder:
        samples = interleave(_actions(Path(folder)), rounds, spent_by_children)
    spent = {name: median(taken) for name, taken in samples.items()}
    label, number = CODEGEN, len(revisions())
    if ROOT in published_schema(REVISION).parents:
        label += " (schema/, not the published file)"
    for what, name, goal in (
        (f"write {REVISION}", _ONE, 0.75),
        ("the same, again", _ONE_AGAIN, 0.15),
        (f"write all {number} revisions", _ALL, 1.80),
        ("the same, again", _ALL_AGAIN, 0.15),
        (f"check all {number}, up to date", _CHECK, 0.09),
    ):
        yield Row(TOPIC, what, spent[name], label, spent[_PLAIN], goal)


def _actions(folder: Path) -> dict[str, Action]:
    checked = folder / "checked"
    _run(_mcp_gen("all", out=checked), folder)()
    return {
        _ONE: fresh([REVISION], folder),
        _ALL: fresh(["all"], folder),
        _ONE_AGAIN: fresh([REVISION], folder, again=True),
        _ALL_AGAIN: fresh(["all"], folder, again=True),
        _CHECK: _run([*_mcp_gen("all", out=checked), "--check"], folder),
        _PLAIN: codegen_run(folder),
    }


def fresh(options: Sequence[str], folder: Path, *, again: bool = False) -> Action:
    """Return an action that generates a package into a new folder each time."""
    numbers = count()
    name = "-".join((*options, "again" if again else "anew"))

    def run() -> None:
        number = next(numbers)
        cache = cache_in(folder, name, 0 if again else number + 1)
        command(_mcp_gen(*options, out=folder / f"{name}-{number}"), folder, cache)()

    return run


def cache_in(folder: Path, what: str, number: int) -> dict[str, str]:
    """Return the environment of measured processes, with the cache of this run number."""
    return environment(MCP_GEN_CACHE=str(folder / f"cache-{what}-{number}"))


def _mcp_gen(*options: str, out: Path) -> list[str | Path]:
    return [tool("mcp-gen"), "--revision", *options, "--out", out]


def codegen_run(folder: Path) -> Action:
    """Return an action: one plain run of datamodel-codegen on the published schema."""
    options: list[str | Path] = [
        "--input",
        published_schema(REVISION),
        "--output",
        folder / "plain.py",
        "--output-model-type",
        "pydantic_v2.BaseModel",
    ]
    return _run([tool("datamodel-codegen"), *options], folder)


def _run(arguments: list[str | Path], folder: Path) -> Action:
    return command(arguments, folder, environment())
