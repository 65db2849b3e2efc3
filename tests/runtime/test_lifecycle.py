"""The life of a connection: every cell of the tables."""

from itertools import product

import pytest
from mcp_protogen.runtime.core.spec import Phase, Role
from mcp_protogen.runtime.rules.lifecycle import (
    HANDSHAKE,
    MAY_PASS,
    STATELESS,
    Event,
    IllegalTransition,
    State,
    advance,
    may_pass,
)
from support import tables

PHASES: tuple[Phase, ...] = ("any", "before_ready", "ready")
ROLES: tuple[Role, ...] = ("client", "server")


def test_an_event_leads_on_or_is_a_breach() -> None:
    for table, state, event in product((HANDSHAKE, STATELESS), State, Event):
        with tables.case((table, state, event)):
            if (state, event) in table:
                assert advance(table, state, event) is table[state, event]
                continue
            with pytest.raises(IllegalTransition, match=r"cannot happen") as caught:
                advance(table, state, event)
            assert (caught.value.state, caught.value.event) == (state, event)


@pytest.mark.shows("S0-13")
def test_a_handshake_opens_a_connection() -> None:
    state = State.NEW
    for event in (Event.INITIALIZE, Event.INITIALIZE_ACCEPTED, Event.INITIALIZED):
        state = advance(HANDSHAKE, state, event)
    assert state is State.OPEN


@pytest.mark.shows("S1-25")
def test_nothing_leads_out_of_the_end() -> None:
    assert not [
        cell for table in (HANDSHAKE, STATELESS) for cell in table if cell[0] is State.CLOSED
    ]


def test_the_stateless_era_has_one_state_until_the_end() -> None:
    assert set(STATELESS.values()) == {State.NEW, State.CLOSED}


def test_every_state_and_phase_has_its_rule() -> None:
    assert set(MAY_PASS) == set(product(State, PHASES))


# Who may send what in the handshake era: client and server, for each phase.
RULES = {
    State.NEW: {"any": "cs", "before_ready": "c", "ready": ""},
    State.OPENING: {"any": "cs", "before_ready": "", "ready": ""},
    State.OPEN_PENDING: {"any": "cs", "before_ready": "c", "ready": "c"},
    State.OPEN: {"any": "cs", "before_ready": "", "ready": "cs"},
    State.CLOSED: {"any": "", "before_ready": "", "ready": ""},
}


@pytest.mark.shows("S1-07")
def test_who_may_send_what() -> None:
    for state, phase, role in product(State, PHASES, ROLES):
        with tables.case((state, phase, role)):
            assert may_pass(state, phase, role) == (role[0] in RULES[state][phase])
