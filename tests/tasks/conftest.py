"""What every test of tasks leaves behind: the clocks of the system."""

from collections.abc import Generator

import pytest
from support.tasks.by_hand import SET_CLOCKS


@pytest.fixture(autouse=True)
def clocks_of_the_system() -> Generator[None, None, None]:
    """Undo `set_clock`."""
    yield
    SET_CLOCKS.undo()
