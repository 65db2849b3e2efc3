"""The opening of a connection: every cell of the tables."""

from itertools import product

import pytest
from mcp_protogen.runtime.core.spec import Phase, Role
from mcp_protogen.runtime.rules.lifecycle import HANDSHAKE, MAY_PASS, Event, State
from support import tables

PHASES: tuple[Phase, ...] = ("any", "before_ready", "ready")
ROLES: tuple[Role, ...] = ("client", "server")


@pytest.mark.shows("S0-13")
def test_a_handshake_opens_a_connection() -> None:
    state = State.NEW
    for event in (Event.INITIALIZE, Event.INITIALIZE_ACCEPTED, Event.INITIALIZED):
        state = HANDSHAKE[state, event]
    assert state is State.OPEN
    assert len(HANDSHAKE) == len(Event), "an event is a breach in all states but one"


@pytest.mark.shows("S1-25")
def test_no_message_ends_a_connection() -> None:
    for state in State:
        assert MAY_PASS[state, "any"] == set(ROLES), state


def test_every_state_and_phase_has_its_rule() -> None:
    assert set(MAY_PASS) == set(product(State, PHASES))


# Who may send what in the handshake era: client and server, for each phase.
RULES = {
    State.NEW: {"any": "cs", "before_ready": "c", "ready": ""},
    State.OPENING: {"any": "cs", "before_ready": "", "ready": ""},
    State.OPEN_PENDING: {"any": "cs", "before_ready": "c", "ready": "c"},
    State.OPEN: {"any": "cs", "before_ready": "", "ready": "cs"},
}


@pytest.mark.shows("S1-07")
def test_who_may_send_what() -> None:
    for state, phase, role in product(State, PHASES, ROLES):
        with tables.case((state, phase, role)):
            assert (role in MAY_PASS[state, phase]) == (role[0] in RULES[state][phase])
