"""The peers that the tests of one module here share."""

from collections.abc import Generator

import pytest
from support.peers.visits import Peers


@pytest.fixture(scope="module")
def peers() -> Generator[Peers, None, None]:
    """Clients and servers that run until the tests of a module are over."""
    made = Peers()
    yield made
    made.close()
