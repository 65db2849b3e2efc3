"""The tables of docs/speed.md, from the record of the last runs: `docs/records/benchmarks.json`.

A run of one topic replaces the rows of that topic, so each topic has its own date and conditions.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any, Final

from website import marks
from website.places import DOCS

PAGE: Final = DOCS / "speed.md"
RECORD: Final = DOCS / "records" / "benchmarks.json"
MARK: Final = "benchmarks"

Json = dict[str, Any]

# Units in a second or in a byte; counts have no unit.
_FACTORS: Final[Mapping[str, float]] = {"ms": 1e3, "µs": 1e6, "MiB": 2**-20, "": 1}
_WIDTH: Final = 120
_HEAD: Final = "| what | mcp-gen | beside | | ratio | goal |\n|---|---:|---|---:|---:|---:|\n"

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
    "gateway": "The gateway",
    "targets": "Other targets",
    "walk": "What a request goes through",
    "grow": "Large schemas",
    "soak": "Long runs",
}
_GAINS: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    "generate": {"write all 5 revisions": [""], "check all 5, up to date": [""]},
    "import": {"import, load 2025-11-25, first tools/call, net of python": ["import mcp"]},
    "serve": {"start to the first answer": [""], "memory after 100,000 calls": [""]},
    "toolkit": {
        "stdio, 1 at a time, a coroutine function": ["fastmcp 4", "mcp 2"],
        "stdio, 1 at a time, a plain function": ["fastmcp 4", "mcp 2"],
        "HTTP, 2025-11-25, a coroutine function": ["fastmcp 4", "mcp 2"],
        "HTTP, 2026-07-28, a coroutine function": ["fastmcp 4", "mcp 2"],
    },
    "http": {
        "memory for 1,000 idle sessions": [""],
        "client, a call, 2025-11-25": ["mcp"],
    },
    "tasks": {"Redis, a task from its start to its end": [""]},
    "share": {"a call, in a session, 2 workers, Redis": ["1 worker"]},
    "bridge": {
        "stdio to HTTP, a call, one at a time": [""],
        "stdio to HTTP, memory": [""],
    },
    "gateway": {
        "3 URLs, processor time for it, 1 at once": ["fastmcp"],
        "3 programs, processor time for it, 64 at once": ["mcp-proxy"],
    },
    "wire": {"read list of 50 tools": ["mcp"], "read 1 KB result, msgspec": [""]},
}
"""What a user gets: rows by topic, each with the programs beside it; "" is all of them."""
_COSTS: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    "serve": {"a call, one at a time": ["readline"]},
    "toolkit": {"the server, a plain function in a thread": [""]},
    "http": {
        "a call, 2025-11-25, in sessions, 16 connections": ["canned"],
        "a call, 2026-07-28, 16 connections": ["canned"],
        "client, a call, 2025-11-25": ["httpx2"],
    },
    "wire": {"read tools/call request": ["validate_json"]},
    "auth": {"a new JWT, ES256, 2026-07-28": [""]},
    "share": {
        "a call with a report before its answer, Redis": [""],
        "a session begun at one worker, called at another, Redis": [""],
    },
    "translate": {"call, client of 2025-11-25, server class of 2026-07-28": [""]},
    "bridge": {
        "stdio to HTTP, a call, 16 in flight": ["supergateway"],
        "stdio to HTTP, start to the first result": ["mcp-remote"],
    },
    "gateway": {
        "3 URLs, a call, 1 at once": ["a direct call", "mcp-gen bridge"],
        "3 programs, memory": ["mcp-proxy"],
    },
    "targets": {"write list of 50 tools": [""]},
}
"""Where it is weak: rows beside a bare loop, a library alone, or a program that takes less."""


def read(file: Path = RECORD) -> Json:
    """Return the topics by name, each with its date, conditions and rows."""
    topics: Json = json.loads(file.read_bytes())["topics"]
    return topics


def update_record(topics: Mapping[str, Json], file: Path = RECORD) -> None:
    """Write topics into the record, in place of earlier runs of them."""
    kept = read(file) if file.exists() else {}
    text = json.dumps({"topics": {**kept, **topics}}, indent=2, ensure_ascii=False)
    file.write_text(f"{text}\n", encoding="utf-8")


def section(topics: Mapping[str, Json]) -> str:
    """Return the table of what a user gets; raise `ValueError` if a row was not measured."""
    return _table(_GAINS, topics)


def costs(topics: Mapping[str, Json]) -> str:
    """Return the table of weak places; raise `ValueError` if a row was not measured."""
    goals = [row for row in _rows(topics) if row["met"] is not None]
    missed = sum(not row["met"] for row in goals)
    return f"{_table(_COSTS, topics)}\nOf {len(goals)} goals, {missed} are missed.\n"


def tables(topics: Mapping[str, Json]) -> str:
    """Return all rows by topic, with versions and conditions."""
    dates = ", ".join(sorted({_when(topic) for topic in topics.values()}))
    text = f"{len(_rows(topics))} rows, measured {dates}. Versions: {_versions(topics)}."
    parts = [fill(text, _WIDTH, break_on_hyphens=False)]
    for name, topic in topics.items():
        load = topic["machine"]["load"]
        how = "" if load is None else f", load {load:.1f}"
        parts += [
            f"## {_TITLES[name]}",
            f"`{name}`, {topic['date']}{how}:",
            f"{_HEAD}{''.join(_lines(topic['rows']))}",
        ]
    return "\n\n".join(map(str.rstrip, parts)) + "\n"


def page(topics: Mapping[str, Json]) -> str:
    """Return the page with its tables as recorded; raise `ValueError` if a row is missing."""
    text = PAGE.read_text(encoding="utf-8")
    for name, part in ((MARK, section), ("costs", costs), ("all rows", tables)):
        text = marks.fill(text, name, part(topics))
    return text


def _rows(topics: Mapping[str, Json]) -> list[Json]:
    return [row for topic in topics.values() for row in topic["rows"]]


def _table(chosen: Mapping[str, Mapping[str, Sequence[str]]], topics: Mapping[str, Json]) -> str:
    parts = (
        f"| **{_TITLES[name]}** | | | | | |\n" + "".join(_lines(_chosen(name, rows, topics)))
        for name, rows in chosen.items()
    )
    return f"{_HEAD}{''.join(parts)}"


def _chosen(
    name: str, chosen: Mapping[str, Sequence[str]], topics: Mapping[str, Json]
) -> list[Json]:
    rows: list[Json] = topics[name]["rows"]
    for what, labels in chosen.items():
        for label in labels:
            if not any(row["what"] == what and row["peer"].startswith(label) for row in rows):
                raise ValueError(f"the page shows '{what}' of {name}, which was not measured")
    return [row for row in rows if row["peer"].startswith(tuple(chosen.get(row["what"], ())))]


def _when(topic: Json) -> str:
    return f"on {topic['date']} on {topic['machine']['processors']} processors"


def _versions(topics: Mapping[str, Json]) -> str:
    """Return the versions that all topics share, then the others with their topics."""
    used = {
        name: [f"Python=={topic['machine']['python']}", *topic["versions"]]
        for name, topic in topics.items()
    }
    shared = [version for version in next(iter(used.values())) if _in_all(version, used)]
    others: dict[str, list[str]] = {}
    for name, versions in used.items():
        rest = ", ".join(version for version in versions if version not in shared)
        if rest:
            others.setdefault(rest, []).append(f"`{name}`")
    parts = [", ".join(shared), *(f"{', '.join(names)}: {rest}" for rest, names in others.items())]
    return "; ".join(parts).replace("==", " ")


def _in_all(version: str, used: Mapping[str, Sequence[str]]) -> bool:
    return all(version in versions for versions in used.values())


def _lines(rows: Sequence[Json]) -> Iterator[str]:
    for before, row in zip([None, *rows], rows, strict=False):
        repeated = before is not None and before["what"] == row["what"]
        what = "the same" if repeated else row["what"]
        theirs = "" if row["theirs"] is None else _amount(row["theirs"], row["unit"])
        ours = _amount(row["ours"], row["unit"])
        ratio, goal = _ratio(row["ratio"]), _ratio(row["target"])
        if goal and ratio and row["met"] is None:
            goal = f"{goal}, floor"
        yield f"| {what} | {ours} | {row['peer']} | {theirs} | {ratio} | {goal} |\n"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _amount(measured: float, unit: str) -> str:
    amount = measured * _FACTORS[unit]
    whole = amount >= 100 or not unit or (unit == "µs" and amount >= 9.95)
    return f"{amount:,.{0 if whole else 1}f} {unit}".rstrip()
