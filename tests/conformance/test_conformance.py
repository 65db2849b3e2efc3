"""The official conformance suite finds nothing wrong, and the README says what it found."""

import asyncio
from pathlib import Path

import pytest
from kit import kit
from legs import LEGS, Leg
from suite import row, run

README = Path(__file__).resolve().parents[2] / "README.md"


# Side by side they would keep each other from answering in time.
@pytest.mark.xdist_group("conformance")
@pytest.mark.parametrize("leg", LEGS, ids=[leg.name for leg in LEGS])
def test_the_suite_finds_nothing_wrong(leg: Leg, tmp_path: Path) -> None:
    (result,) = asyncio.run(run([leg], kit(), tmp_path))
    assert not result.faults, "\n".join(result.faults)
    assert row(result) in README.read_text(encoding="utf-8"), "run make conformance"
