"""`python -m benchmarks`: measure side by side with other programs, and print one table.

Goals are ratios, since absolute times say more about the machine. A missed goal is shown but not
raised, because a busy machine is not a defect. The exit code says whether the measuring worked.
"""

import json
import os
import platform
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from . import (
    auth_topic,
    bridge_topic,
    gateway_topic,
    generating,
    growing,
    http_topic,
    importing,
    keeping_up,
    serving,
    share_topic,
    soaking,
    target_topic,
    task_topic,
    toolkit_topic,
    translating,
    walk,
    wire,
)
from .places import pins
from .rows import Row, as_table

_TOPICS = {
    topic.TOPIC: topic
    for topic in (
        generating,
        growing,
        keeping_up,
        importing,
        wire,
        target_topic,
        serving,
        toolkit_topic,
        http_topic,
        auth_topic,
        share_topic,
        task_topic,
        translating,
        bridge_topic,
        gateway_topic,
        walk,
        soaking,
    )
}
_USUAL = _TOPICS.keys() - {soaking.TOPIC}
"""The topics that are measured if none is named: all except the one of half an hour."""


def main() -> int:
    """Run the command line and return its exit code."""
    options = _options()
    rows: list[Row] = []
    try:
        for name, topic in _TOPICS.items():
            if name not in (options.only or _USUAL):
                continue
            print(f"measuring: {name} …", file=sys.stderr)
            measured = list(topic.rows(options.repeat or topic.ROUNDS))
            rows += measured
            # Recorded at once, so that a fault in a later topic loses nothing.
            if options.record:
                _record(measured)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    print(as_table(rows))
    print(f"\n{_conditions()}")
    if options.json:
        report = {"conditions": _conditions(), "rows": [row.as_json() for row in rows]}
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    return 0


def _options() -> Namespace:
    parser = ArgumentParser("python -m benchmarks", description="Measure side by side with others.")
    parser.add_argument(
        "--only", action="append", choices=list(_TOPICS), help="this topic; may be repeated"
    )
    parser.add_argument("--repeat", type=int, metavar="N", help="rounds, in place of each topic's")
    parser.add_argument(
        "--record", action="store_true", help="record the topics, and write them into docs/speed.md"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    return parser.parse_args()


def _record(rows: Iterable[Row]) -> None:
    """Write measured rows into the record, and the record into docs/speed.md."""
    from website import speed

    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row.topic, []).append(row.as_json())
    conditions = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {
            "python": platform.python_version(),
            "processors": os.cpu_count(),
            "load": round(os.getloadavg()[0], 1),
        },
        "versions": _versions(),
    }
    speed.update_record(
        {topic: {**conditions, "rows": measured} for topic, measured in found.items()}
    )
    speed.PAGE.write_text(speed.page(speed.read()), encoding="utf-8")


def _versions() -> list[str]:
    """Return our packages and the compared ones with versions, as pip writes them."""
    own = [f"{name}=={version(name)}" for name in ("pydantic", "datamodel-code-generator")]
    return [*own, *pins()]


def _conditions() -> str:
    versions = [f"Python {platform.python_version()}", *_versions()]
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
    return f"Medians of interleaved runs; {', '.join(versions)}; {load}."


if __name__ == "__main__":
    sys.exit(main())
