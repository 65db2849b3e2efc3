"""The attacks on a server fail behind a gateway, too: it is a server with all of its limits."""

from typing import Final

import pytest
from support.folders import TESTS
from support.http.behind import run_tests

ATTACKS: Final = {
    *(TESTS / "http").glob("test_fire_*.py"),
    *(TESTS / "auth").glob("test_attacks_*"),
}
SAMPLE: Final = {
    TESTS / "http" / name for name in ("test_fire_sessions.py", "test_fire_clients.py")
}

pytestmark = pytest.mark.long


def test_attacks_on_sessions_and_by_clients_fail_behind_a_gateway() -> None:
    run_tests(SAMPLE, "--behind-gateway", "servers: behind a gateway")


@pytest.mark.sampled(0)
def test_all_attacks_fail_behind_a_gateway() -> None:
    assert ATTACKS > SAMPLE
    run_tests(ATTACKS - SAMPLE, "--behind-gateway", "servers: behind a gateway")
