"""The official conformance suite finds nothing wrong, and the README says what it found."""

import asyncio
from pathlib import Path

import pytest
from kit import kit
from legs import LEGS, Leg
from suite import row, run

README = Path(__file__).resolve().parents[2] / "README.md"


# Side by side they would keep each other from answering in time.
pytestmark = pytest.mark.xdist_group("conformance")

NEWEST = [leg for leg in LEGS if leg.only is None]
RESTRICTED = [leg for leg in LEGS if leg.only is not None]


@pytest.mark.parametrize("leg", NEWEST, ids=lambda leg: leg.name)
def test_the_suite_finds_nothing_wrong(leg: Leg, tmp_path: Path) -> None:
    assert_sound(leg, tmp_path)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("leg", RESTRICTED, ids=lambda leg: leg.name)
def test_the_suite_finds_nothing_wrong_with_a_server_of_one_old_revision(
    leg: Leg, tmp_path: Path
) -> None:
    assert_sound(leg, tmp_path)


def assert_sound(leg: Leg, tmp_path: Path) -> None:
    """Whether a leg finds nothing wrong, and as much that is right as the README says."""
    (result,) = asyncio.run(run([leg], kit(), tmp_path))
    assert not result.faults, "\n".join(result.faults)
    assert row(result) in README.read_text(encoding="utf-8"), "run make conformance"
