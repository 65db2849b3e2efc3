"""The tables of benchmarks, from the record of their last runs: `docs/records/benchmarks.json`.

A topic that is measured alone replaces its rows in the record and keeps the others, so each topic
says when it was measured, and how.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, Final

from website.places import DOCS

RECORD: Final = DOCS / "records" / "benchmarks.json"
MARK: Final = "benchmarks"

Json = dict[str, Any]

# How many of a unit there are in a second, or in a byte; what is counted has none.
_FACTORS: Final[Mapping[str, float]] = {"ms": 1e3, "µs": 1e6, "MiB": 2**-20, "": 1}
_WIDTH: Final = 120
_HEAD: Final = "| what | ours | beside | | ratio | goal |\n|---|---:|---|---:|---:|---:|\n"


def read(file: Path = RECORD) -> Json:
    """Return the topics by name, each with its date, conditions and rows."""
    topics: Json = json.loads(file.read_bytes())["topics"]
    return topics


def updated(topics: Mapping[str, Json], file: Path = RECORD) -> None:
    """Write topics into the record, in place of those that it has of them."""
    kept = read(file) if file.exists() else {}
    text = json.dumps({"topics": {**kept, **topics}}, indent=2, ensure_ascii=False)
    file.write_text(f"{text}\n", encoding="utf-8")


def section(topics: Mapping[str, Json]) -> str:
    """Return the section of the README: how it was measured, and all rows."""
    rows = (row for one in topics.values() for row in one["rows"])
    return f"{fill(_conditions(topics), _WIDTH, break_on_hyphens=False)}\n\n{_table(rows)}"


def page() -> str:
    """Return the page of all rows by topic."""
    topics = read()
    lines = [
        "# Speed\n",
        "Medians of interleaved runs, side by side, as [described](measuring.md). Ratios carry over"
        " to other machines; absolute figures do not. A ratio below 1 means that ours is less.\n",
        f"{_conditions(topics)}\n",
    ]
    for name, topic in topics.items():
        lines.append(f"## {name}\n\n{_table(topic['rows'])}")
    return "\n".join(lines)


def _conditions(topics: Mapping[str, Json]) -> str:
    """When, on what and with which versions; topics that were measured alike together."""
    runs = _alike(topics, _run)
    versions = _alike(topics, _versions)
    return f"Measured {_said(runs)}. Versions: {_said(versions)}."


def _alike(topics: Mapping[str, Json], say: Callable[[Json], str]) -> Mapping[str, Sequence[str]]:
    alike: dict[str, list[str]] = {}
    for name, topic in topics.items():
        alike.setdefault(say(topic), []).append(name)
    return alike


def _said(alike: Mapping[str, Sequence[str]]) -> str:
    """What is said of all topics once, or of each."""
    if len(alike) == 1:
        return next(iter(alike))
    return "; ".join(
        f"{one} ({', '.join(f'`{name}`' for name in names)})" for one, names in alike.items()
    )


def _run(topic: Json) -> str:
    machine: Json = topic["machine"]
    load = "" if machine["load"] is None else f" with load {machine['load']:.1f}"
    return f"on {topic['date']} on {machine['processors']} processors{load}"


def _versions(topic: Json) -> str:
    versions = [f"Python=={topic['machine']['python']}", *topic["versions"]]
    return ", ".join(versions).replace("==", " ")


def _table(rows: Iterable[Json]) -> str:
    return _HEAD + "".join(_lines([*rows]))


def _lines(rows: Sequence[Json]) -> Iterator[str]:
    for before, row in zip([None, *rows], rows, strict=False):
        repeated = before is not None and before["what"] == row["what"]
        what = "the same" if repeated else row["what"]
        theirs = "" if row["theirs"] is None else _amount(row["theirs"], row["unit"])
        ours = _amount(row["ours"], row["unit"])
        ratio, goal = _ratio(row["ratio"]), _ratio(row["target"])
        yield f"| {what} | {ours} | {row['peer']} | {theirs} | {ratio} | {goal} |\n"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _amount(measured: float, unit: str) -> str:
    amount = measured * _FACTORS[unit]
    whole = amount >= 100 or not unit or (unit == "µs" and amount >= 9.95)
    return f"{amount:,.{0 if whole else 1}f} {unit}".rstrip()
