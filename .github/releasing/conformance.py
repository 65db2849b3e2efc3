"""The conformance report of a release, from docs/records/conformance.json."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def page(record: bytes, version: str) -> str:
    """Return the record of a run of the conformance suite as Markdown."""
    document: Mapping[str, Any] = json.loads(record)
    (suite, suite_version), *_ = document["suite"].items()
    legs: Sequence[Mapping[str, Any]] = document["legs"]
    return "\n".join(
        [
            f"# Conformance of mcp-gen {version}",
            "",
            f"Found on {document['date']} by `{suite}` {suite_version}, over HTTP, for a server of",
            "one class and a client. `make conformance` repeats the run, in a checkout of the tag.",
            "",
            table(legs),
        ]
    )


def table(legs: Sequence[Mapping[str, Any]]) -> str:
    """Return the findings as Markdown, and why some scenarios cannot be passed."""
    lines = [
        "| what | speaks | tested for | scenarios | checks passed | impossible |",
        "|---|---|---|---:|---:|---:|",
        *map(row, legs),
        *_impossible(legs),
    ]
    return "\n".join(lines) + "\n"


def row(leg: Mapping[str, Any]) -> str:
    what = leg["side"] if leg["topic"] is None else f"{leg['side']}, {leg['topic']}"
    speaks = leg["speaks"] or ("its era" if leg["side"] == "client" else "all")
    scenarios = f"{leg['passed']} of {leg['possible']}"
    impossible = len(leg["impossible"]) or "–"
    checks = leg["checks"]
    return f"| {what} | {speaks} | {leg['held_to']} | {scenarios} | {checks} | {impossible} |"


def _impossible(legs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    by_reason: dict[str, set[str]] = {}
    for leg in legs:
        for scenario, why in leg["impossible"].items():
            by_reason.setdefault(why, set()).add(scenario)
    if by_reason:
        yield from ("", "Impossible:", "")
    for why, scenarios in by_reason.items():
        yield f"- {why}: {', '.join(f'`{scenario}`' for scenario in sorted(scenarios))}"
