"""The tables of benchmarks, from the record of their last runs: `docs/records/benchmarks.json`.

A topic that is measured alone replaces its rows in the record and keeps the others, so each topic
says when it was measured, and how.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, Final

from website.places import DOCS

PAGE: Final = DOCS / "speed.md"
RECORD: Final = DOCS / "records" / "benchmarks.json"
MARK: Final = "benchmarks"

Json = dict[str, Any]

# How many of a unit there are in a second, or in a byte; what is counted has none.
_FACTORS: Final[Mapping[str, float]] = {"ms": 1e3, "µs": 1e6, "MiB": 2**-20, "": 1}
_WIDTH: Final = 120
_HEAD: Final = "| what | ours | beside | | ratio | goal |\n|---|---:|---|---:|---:|---:|\n"

_TITLES: Final[Mapping[str, str]] = {
    "generate": "Generation",
    "keep-up": "Comparison of revisions, and new servers",
    "import": "Import",
    "serve": "Over stdio",
    "http": "Over HTTP",
    "wire": "Messages",
    "toolkit": "Tools made of functions",
    "tasks": "Tasks",
    "share": "Several workers",
    "auth": "Authorization",
    "translate": "Between revisions",
    "bridge": "The bridge",
    "targets": "Other targets",
    "walk": "What a request goes through",
    "grow": "Large schemas",
    "soak": "Long runs",
}
_SHOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "generate": ("write 2025-11-25", "write all 5 revisions", "check all 5, up to date"),
    "keep-up": ("diff 2025-11-25 2026-07-28", "new, a server"),
    "import": ("import, load 2025-11-25, first tools/call, net of python",),
    "serve": (
        "a call, one at a time",
        "a call, 64 in flight",
        "99th percentile, 64 in flight",
        "start to the first answer",
        "memory after 100,000 calls",
    ),
    "http": (
        "a call, 2025-11-25, in sessions, 16 connections",
        "99th percentile, 2025-11-25, in sessions, 16 connections",
        "a call, 2026-07-28, 16 connections",
        "99th percentile, 2026-07-28, 16 connections",
        "memory for 1,000 idle sessions",
        "a call, two workers, without the client",
        "client, a call, 2025-11-25",
        "client, a call, 2026-07-28",
        "client, a call, 2025-11-25 over stdio",
    ),
    "wire": (
        "read tools/call request",
        "read 1 KB result",
        "read list of 50 tools",
        "write tools/call request",
        "write 1 KB result",
        "write list of 50 tools",
        "read 1 KB result, msgspec",
    ),
    "toolkit": (
        "stdio, 1 at a time, a coroutine function",
        "stdio, 1 at a time, a plain function",
        "HTTP, 2025-11-25, a coroutine function",
        "HTTP, 2026-07-28, a coroutine function",
    ),
    "tasks": ("Redis, a task from its start to its end", "Redis, a poll, 16 at a time"),
    "share": (
        "a call, in a session, 2 workers, Redis",
        "a call, in a session, 2 workers, PostgreSQL",
    ),
    "auth": ("a JWT that was verified before, 2026-07-28",),
    "translate": ("call, client of 2026-07-28, server class of 2025-11-25",),
    "bridge": (
        "stdio to HTTP, a call, one at a time",
        "stdio to HTTP, memory",
        "HTTP to stdio, a call, one at a time",
    ),
}
"""What the README shows, by topic."""


def read(file: Path = RECORD) -> Json:
    """Return the topics by name, each with its date, conditions and rows."""
    topics: Json = json.loads(file.read_bytes())["topics"]
    return topics


def update_record(topics: Mapping[str, Json], file: Path = RECORD) -> None:
    """Write topics into the record, in place of those that it has of them."""
    kept = read(file) if file.exists() else {}
    text = json.dumps({"topics": {**kept, **topics}}, indent=2, ensure_ascii=False)
    file.write_text(f"{text}\n", encoding="utf-8")


def section(topics: Mapping[str, Json]) -> str:
    """Return the section of the README: what of it answers most questions, and where the rest is.

    Raises `ValueError` if it would show a row that was not measured.
    """
    rows = [row for topic in topics.values() for row in topic["rows"]]
    goals = [row for row in rows if row["target"] is not None]
    missed = sum(not row["met"] for row in goals)
    text = (
        f"Measured {', '.join(sorted({_when(topic) for topic in topics.values()}))}. Of {len(goals)}"
        f" goals, {missed} are missed. [docs/speed.md](docs/speed.md) has all {len(rows)} rows,"
        " with the versions of the peers and the load of the machine."
    )
    tables = (
        f"| **{_TITLES[name]}** | | | | | |\n" + "".join(_lines(_shown_rows(name, topics)))
        for name in _SHOWN
    )
    return f"{fill(text, _WIDTH, break_on_hyphens=False)}\n\n{_HEAD}{''.join(tables)}"


def page(topics: Mapping[str, Json]) -> str:
    """Return the page of all rows by topic."""
    paragraphs = (
        "What `make bench` has measured: medians of interleaved runs, side by side with what users"
        " would otherwise run. A ratio below 1 means that ours is less. Ratios are valid for other"
        " machines; absolute figures are not.",
        "[How it is measured](../benchmarks/README.md) stands beside the benchmarks.",
        f"Versions: {_versions(topics)}.",
    )
    lines = ["# Speed", *(fill(group, _WIDTH, break_on_hyphens=False) for group in paragraphs)]
    for name, topic in topics.items():
        load = topic["machine"]["load"]
        how = "" if load is None else f", with load {load:.1f}"
        lines += [
            f"## {_TITLES[name]}",
            f"`{name}`, measured {_when(topic)}{how}:",
            f"{_HEAD}{''.join(_lines(topic['rows']))}",
        ]
    return "\n\n".join(map(str.rstrip, lines)) + "\n"


def _shown_rows(name: str, topics: Mapping[str, Json]) -> list[Json]:
    rows: list[Json] = topics[name]["rows"]
    for what in _SHOWN[name]:
        if all(row["what"] != what for row in rows):
            raise ValueError(f"the README shows '{what}' of {name}, which was not measured")
    return [row for row in rows if row["what"] in _SHOWN[name]]


def _when(topic: Json) -> str:
    return f"on {topic['date']} on {topic['machine']['processors']} processors"


def _versions(topics: Mapping[str, Json]) -> str:
    """What is said of all topics once, or of each."""
    alike: dict[str, list[str]] = {}
    for name, topic in topics.items():
        versions = [f"Python=={topic['machine']['python']}", *topic["versions"]]
        alike.setdefault(", ".join(versions).replace("==", " "), []).append(f"`{name}`")
    if len(alike) == 1:
        return next(iter(alike))
    return "; ".join(f"{version} ({', '.join(names)})" for version, names in alike.items())


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
