"""The opening of a connection: every cell of the tables."""

from dataclasses import replace
from itertools import product

import pytest
from mcp_protogen.runtime.connection import Connection
from mcp_protogen.runtime.core.errors import LocalError
from mcp_protogen.runtime.core.spec import Phase, Role
from mcp_protogen.runtime.messages.method_table import MethodTable
from mcp_protogen.runtime.rules.lifecycle import MAY_PASS, State
from mcp_revisions.v2025_11_25 import methods
from mcp_revisions.v2025_11_25 import models as m
from support import tables
from support.json_types import JsonObject

PHASES: tuple[Phase, ...] = ("any", "before_ready", "ready")
ROLES: tuple[Role, ...] = ("client", "server")


@pytest.mark.shows("S0-13")
def test_a_handshake_opens_a_connection() -> None:
    call = replace(methods.CALL_TOOL, phase="ready")
    table = MethodTable("x", requests={call.method: call}, notifications={}, errors={})
    declared: dict[Role, JsonObject] = {"client": {}, "server": {"tools": {}}}
    connection = Connection(table, "client", declared, state=State.NEW)
    params = m.CallToolRequestParams(name="x")
    with pytest.raises(LocalError, match="cannot be sent yet: the connection is in state NEW"):
        connection.request(call, params)
    connection.enter(State.OPEN)
    assert connection.request(call, params)[0] == 1


@pytest.mark.shows("S1-25")
def test_no_message_ends_a_connection() -> None:
    for state in State:
        assert MAY_PASS[state, "any"] == set(ROLES), state


def test_every_state_and_phase_has_its_rule() -> None:
    assert set(MAY_PASS) == set(product(State, PHASES))


# Messages allowed in the handshake era: client and server, for each phase.
RULES = {
    State.NEW: {"any": "cs", "before_ready": "c", "ready": ""},
    State.OPEN_PENDING: {"any": "cs", "before_ready": "c", "ready": "c"},
    State.OPEN: {"any": "cs", "before_ready": "", "ready": "cs"},
}


@pytest.mark.shows("S1-07")
def test_who_may_send_what() -> None:
    for state, phase, role in product(State, PHASES, ROLES):
        with tables.case((state, phase, role)):
            assert (role in MAY_PASS[state, phase]) == (role[0] in RULES[state][phase])
