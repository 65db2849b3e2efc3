"""The bounds of `tests/bounds.toml`, and those that were raised without a reason."""

import re
import subprocess
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from support.folders import ROOT, TESTS

FILE: Final = TESTS / "bounds.toml"
_COSTS: Final = re.compile(r"^### Costs\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)


class Bound(NamedTuple):
    most: int
    unit: str
    reason: str


def read_bounds(text: str | None = None) -> dict[str, Bound]:
    """Return the bounds by name, from the file or from an earlier text of it."""
    tables: dict[str, Any] = tomllib.loads(FILE.read_text("utf-8") if text is None else text)
    return {name: Bound(**table) for name, table in tables.items()}


def earlier_bounds() -> list[dict[str, Bound]] | None:
    """Return the bounds after each commit of this branch; None without its history."""
    if _git("rev-parse", "--is-shallow-repository") != "false\n":
        return None
    path = FILE.relative_to(ROOT).as_posix()
    commits = _git("log", "--first-parent", "--diff-filter=AM", "--format=%H", "--", path)
    return [read_bounds(_git("show", f"{commit}:{path}")) for commit in (commits or "").split()]


def _git(*arguments: str) -> str | None:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
    )
    return done.stdout if done.returncode == 0 else None


def raised_without_reason(
    bounds: Mapping[str, Bound], earlier: Iterable[Mapping[str, Bound]], changelog: str
) -> list[str]:
    """Return the bounds that were raised without an entry with the reason under "Costs"."""
    parts = (entry for part in _COSTS.findall(changelog) for entry in part.split("\n- "))
    entries = [
        entry_part
        for entry_part in (" ".join(entry.split()) for entry in parts)
        if " buys " in entry_part
    ]
    least: dict[str, int] = {}
    for bounds_before in earlier:
        least |= {
            name: min(least.get(name, bound.most), bound.most)
            for name, bound in bounds_before.items()
        }
    return [
        name
        for name, (most, unit, _) in bounds.items()
        if most > least.get(name, most)
        and not any(f"`{name}`: {most:,} {unit}" in entry for entry in entries)
    ]
