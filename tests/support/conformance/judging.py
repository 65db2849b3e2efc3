"""The findings of the suite, and those that must be fixed.

The suite's own exit status is too kind: it lets warnings pass, and scenarios that checked nothing.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from support.conformance.scenarios import OTHERS, Excuse, Excuses

_BAD: Final = ("FAILURE", "WARNING")

_FOLDER: Final = re.compile(r"(?P<scenario>.+)-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d+Z")


@dataclass(frozen=True, slots=True)
class Check:
    id: str
    status: str
    said: str

    @property
    def passed(self) -> bool:
        return self.status == "SUCCESS"


Found = Mapping[str, tuple[Check, ...]]
"""The checks of each scenario that was played."""


def read_found(folder: Path, side: str) -> Found:
    found: dict[str, tuple[Check, ...]] = {}
    for path in sorted(folder.rglob("checks.json")):
        named = _FOLDER.fullmatch(path.parent.relative_to(folder).as_posix())
        if named is None:
            raise ValueError(f"{path} is not where the suite is known to write")
        # Folders about servers begin with this word.
        scenario = named["scenario"].removeprefix("server-" if side == "server" else "")
        found[scenario] = (*found.get(scenario, ()), *map(_check, json.loads(path.read_text())))
    return found


def _check(written: Mapping[str, Any]) -> Check:
    said = written.get("errorMessage") or written.get("description") or ""
    return Check(written["id"], written["status"], said)


def faults(found: Found, wanted: Collection[str], excuses: Excuses) -> Iterator[str]:
    """Yield the faults, each with its scenario and check.

    An excuse for a passing check is a fault, too.
    """
    for scenario in sorted(set(wanted) - set(found)):
        yield f"{scenario}: was not played"
    for scenario, checks in found.items():
        if scenario in wanted:
            yield from _faults(scenario, checks, excuses.get(scenario))
        elif not scenario.startswith(OTHERS):
            yield f"{scenario}: is new to scenarios.py"


def _faults(scenario: str, checks: tuple[Check, ...], excuse: Excuse | None) -> Iterator[str]:
    bad = [check for check in checks if check.status in _BAD]
    good = any(check.passed for check in checks)
    if excuse is None:
        if not good:
            yield f"{scenario}: nothing was found to be as it should be"
    else:
        held_against_it = [
            bad_check for bad_check in bad if not bad_check.id.startswith(excuse.checks)
        ]
        if good and bad == held_against_it:
            yield f"{scenario}: can be passed, though scenarios.py says that {excuse.why}"
        bad = held_against_it
    for check in bad:
        yield f"{scenario}: {check.status} {check.id}: {check.said}"
