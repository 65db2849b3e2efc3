"""The states of a connection that opens, and of a task."""

from itertools import pairwise

from mcp_protogen.runtime.features.tasks.lifecycle import ENDS
from mcp_protogen.runtime.features.tasks.task import Status
from mcp_protogen.runtime.messages.method_table import HANDSHAKE_ERA
from mcp_protogen.runtime.rules.lifecycle import State

from website.drawings.graphs import START, Graph


def handshake() -> Graph:
    """Return the states of `lifecycle.State`, which follow each other in its order."""
    events = {
        State.OPEN_PENDING: f"result of {HANDSHAKE_ERA.opened_by}",
        State.OPEN: "notifications/initialized",
    }
    steps = [
        (state.name, events[following], following.name) for state, following in pairwise(State)
    ]
    return Graph(
        title="The states of a connection with a handshake",
        kind="states",
        edges=[(START, "", State.NEW.name), *steps],
    )


def task() -> Graph:
    """Return the statuses of a task: all may follow until one of `lifecycle.ENDS`."""
    follows = [
        (status, following)
        for status in Status
        for following in Status
        if status not in ENDS and following is not status
    ]
    return Graph(
        title="The statuses of a task",
        kind="states",
        edges=[
            (START, "", Status.WORKING.value),
            *((status.value, _event(following), following.value) for status, following in follows),
        ],
        ends=frozenset(status.value for status in ENDS),
    )


def _event(to: Status) -> str:
    return {
        Status.WORKING: "every question is answered",
        Status.INPUT_REQUIRED: "it asks for input",
        Status.COMPLETED: "it has a result",
        Status.FAILED: "it fails, or its time is over",
        Status.CANCELLED: "it is cancelled",
    }[to]
