"""Clients of workers in one process, in any order, with every possible fault.

`python -m support.sharing.schedules 7`, in `tests`, plays the schedule of seed 7 and prints it.
"""

import pytest
from support.sharing.schedules import simulate
from support.tables import case

EACH = 50

pytestmark = pytest.mark.long


@pytest.mark.sampled(3)
@pytest.mark.parametrize("first", range(0, 2000, EACH))
def test_promises_hold_under_simulated_schedules(first: int) -> None:
    for seed in range(first, first + EACH):
        with case(f"of seed {seed}"):
            witness = simulate(seed)
            assert not witness.faults, str(witness)
