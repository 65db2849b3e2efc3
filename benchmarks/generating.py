"""How long it takes to generate, beside plain datamodel-codegen on the same schemas.

Whole commands are timed, each from its own start. The peer comes from the same environment: it is
the library this project builds on, at its defaults.
"""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from .places import REVISION, ROOT, environment, published, revisions, tool
from .rows import Row
from .timing import Action, Samples, command, in_turns

TOPIC = "generate"
ROUNDS = 7

_ONE_OF_OURS, _ALL_OF_OURS, _CHECK = "one", "all", "check"


def rows(rounds: int) -> Iterator[Row]:
    """Compare writing one revision, writing all of them, and checking what is up to date."""
    with TemporaryDirectory() as folder:
        samples = in_turns(_actions(Path(folder)), rounds)
    peer_one = median(samples[REVISION])
    peer_all = _median_of_sums(samples)
    number = len(revisions())
    peer = "datamodel-codegen"
    if ROOT in published(REVISION).parents:
        peer += " (schema/, not the published files)"
    ours = {name: median(samples[name]) for name in (_ONE_OF_OURS, _ALL_OF_OURS, _CHECK)}
    one, each = f"{peer}, one run", f"{peer}, {number} runs in a row"
    yield Row(TOPIC, f"write {REVISION}", ours[_ONE_OF_OURS], one, peer_one, 1.00)
    yield Row(TOPIC, f"write all {number} revisions", ours[_ALL_OF_OURS], each, peer_all, 0.45)
    yield Row(TOPIC, f"check all {number}, up to date", ours[_CHECK], one, peer_one, 0.12)


def _actions(folder: Path) -> dict[str, Action]:
    checked = folder / "checked"
    _run(_mcp_gen("all", checked), folder)()
    return {
        _ONE_OF_OURS: _fresh(REVISION, folder),
        _ALL_OF_OURS: _fresh("all", folder),
        _CHECK: _run([*_mcp_gen("all", checked), "--check"], folder),
        **{revision: peer(revision, folder) for revision in revisions()},
    }


def _fresh(revision: str, folder: Path) -> Action:
    """Generating into a folder that does not exist, another one each time."""
    numbers = count()

    def run() -> None:
        out = folder / f"{revision}-{next(numbers)}"
        _run([*_mcp_gen(revision, out), "--force"], folder)()

    return run


def _mcp_gen(revision: str, out: Path) -> list[str | Path]:
    return [tool("mcp-gen"), "--revision", revision, "--out", out]


def peer(revision: str, folder: Path) -> Action:
    """One plain run of datamodel-codegen on a published schema."""
    out = folder / f"{revision}.py"
    model = "pydantic_v2.BaseModel"
    options: list[str | Path] = [
        "--input",
        published(revision),
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
