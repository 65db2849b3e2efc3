"""The time to generate, beside plain datamodel-codegen on the same schemas.

Whole commands are timed, each from its own start and, unless a row says "again", with an empty
cache. datamodel-codegen is the library under this project, from the same environment and at its
defaults. Processor time is that of all processes of a command.
"""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from tempfile import TemporaryDirectory

from .places import REVISION, ROOT, environment, published_schema, revisions, tool
from .rows import Row
from .timing import Action, Samples, command, interleave

TOPIC = "generate"
ROUNDS = 7

_ONE, _ALL, _CHECK, _ONE_AGAIN, _ALL_AGAIN = "one", "all", "check", "one again", "all again"


def rows(rounds: int) -> Iterator[Row]:
    """Compare writing one revision and all of them, for the first time and again, and checking."""
    with TemporaryDirectory() as folder:
        actions = _actions(Path(folder))
        ours_spent, codegen_spent = list[float](), list[float]()
        actions[_ONE] = _count_processor_time(actions[_ONE], ours_spent)
        actions[REVISION] = _count_processor_time(actions[REVISION], codegen_spent)
        samples = interleave(actions, rounds)
    codegen_one = median(samples[REVISION])
    codegen_all = _median_of_sums(samples)
    number = len(revisions())
    label = "datamodel-codegen"
    if ROOT in published_schema(REVISION).parents:
        label += " (schema/, not the published files)"
    ours = {name: median(taken) for name, taken in samples.items()}
    # The first run of each does not count.
    spent, theirs = median(ours_spent[1:]), median(codegen_spent[1:])
    one, each = f"{label}, one run", f"{label}, {number} runs in a row"
    yield Row(TOPIC, f"write {REVISION}", ours[_ONE], one, codegen_one, 0.80)
    yield Row(TOPIC, "the same, processor time", spent, one, theirs, 1.20)
    yield Row(TOPIC, "the same, again", ours[_ONE_AGAIN], one, codegen_one, 0.15)
    yield Row(TOPIC, f"write all {number} revisions", ours[_ALL], each, codegen_all, 0.45)
    yield Row(TOPIC, "the same, again", ours[_ALL_AGAIN], each, codegen_all, 0.15)
    yield Row(TOPIC, f"check all {number}, up to date", ours[_CHECK], one, codegen_one, 0.05)


def _count_processor_time(action: Action, spent: list[float]) -> Action:
    """Return the action, which also notes the processor time of its processes."""

    def run() -> None:
        before = _spent_by_children()
        action()
        spent.append(_spent_by_children() - before)

    return run


def _spent_by_children() -> float:
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _actions(folder: Path) -> dict[str, Action]:
    checked = folder / "checked"
    _run(_mcp_gen("all", checked), folder)()
    return {
        _ONE: _fresh(REVISION, folder),
        _ALL: _fresh("all", folder),
        _ONE_AGAIN: _fresh(REVISION, folder, again=True),
        _ALL_AGAIN: _fresh("all", folder, again=True),
        _CHECK: _run([*_mcp_gen("all", checked), "--check"], folder),
        **{revision: codegen_run(revision, folder) for revision in revisions()},
    }


def _fresh(revision: str, folder: Path, *, again: bool = False) -> Action:
    """Return an action that generates into a new folder each time."""
    numbers = count()

    def run() -> None:
        number = next(numbers)
        out = folder / f"{revision}-{'again' if again else 'anew'}-{number}"
        cache = cache_in(folder, revision, 0 if again else number + 1)
        command([*_mcp_gen(revision, out), "--force"], folder, cache)()

    return run


def cache_in(folder: Path, what: str, number: int) -> dict[str, str]:
    """Return the environment of measured processes, with the cache of this run number."""
    return environment(MCP_GEN_CACHE=str(folder / f"cache-{what}-{number}"))


def _mcp_gen(revision: str, out: Path) -> list[str | Path]:
    return [tool("mcp-gen"), "--revision", revision, "--out", out]


def codegen_run(revision: str, folder: Path) -> Action:
    """Return an action: one plain run of datamodel-codegen on a published schema."""
    out = folder / f"{revision}.py"
    model = "pydantic_v2.BaseModel"
    options: list[str | Path] = [
        "--input",
        published_schema(revision),
        "--output",
        out,
        "--output-model-type",
        model,
    ]
    return _run([tool("datamodel-codegen"), *options], folder)


def _run(arguments: list[str | Path], folder: Path) -> Action:
    return command(arguments, folder, environment())


def _median_of_sums(samples: Samples) -> float:
    rounds = zip(*(samples[revision] for revision in revisions()), strict=True)
    return median(map(sum, rounds))
