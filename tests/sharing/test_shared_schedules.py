"""Clients of several processes on one Redis, while these stop, die, and lose their Redis.

`python -m support.sharing.playing 7 --processes`, in `tests`, plays the schedule of seed 7 and
prints it; so does the test of that seed with `--all`.
"""

from collections.abc import Generator

import pytest
from support.sharing.nursery import Processes, nursery
from support.sharing.playing import LEASE, play
from support.sharing.schedules import WORKERS

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("shared schedules")]


@pytest.fixture(scope="module")
def workers() -> Generator[Processes, None, None]:
    """Run a constant number of processes, which live until they are killed."""
    with nursery(WORKERS, LEASE) as site:
        yield site


@pytest.mark.sampled(50)
@pytest.mark.parametrize("seed", range(1000))
def test_promises_hold_under_random_schedules(workers: Processes, seed: int) -> None:
    witness = play(seed, workers)
    assert not witness.faults, str(witness)
