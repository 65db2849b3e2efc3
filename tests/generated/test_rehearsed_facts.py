"""Facts that only proposals state are followed by the package that is generated with them."""

from pathlib import Path

import pytest
from support.generated.next_revision import copy_checkout
from support.json_types import read_json
from support.rehearsals.__main__ import connect_sides, write_package
from support.rehearsals.adopting import decide, pin
from support.rehearsals.proposals import FOLDER, Rehearsal

pytestmark = pytest.mark.long

PROPOSALS = ("definition-tags", "partial-results", "required-capabilities")


def test_facts_of_proposals_are_followed_together(tmp_path: Path) -> None:
    parts = tuple(read_json(FOLDER / f"{name}.json") for name in PROPOSALS)
    rehearsal = Rehearsal("facts", parts)
    checkout = copy_checkout(tmp_path)
    pin(checkout, rehearsal)
    decide(checkout, rehearsal)
    write_package(checkout, rehearsal)
    connect_sides(checkout, rehearsal)
