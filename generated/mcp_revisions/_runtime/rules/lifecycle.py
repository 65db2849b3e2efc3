"""The life of a connection, as tables.

Theory of operation. Up to 2025-11-25 a connection begins with a handshake: the client offers a
revision, the server answers with one, the client confirms. Each side keeps a state, and what either
of them does is an event; the table `HANDSHAKE` says which state an event leads to, and an event it
does not have is a breach of the protocol. Both sides walk the same table, because sending and
receiving a message are the same event. From 2026-07-28 on there is nothing to agree on: every
request says all that is needed to understand it, and `STATELESS` has one state.

In each state some messages may pass and others may not. A method's entry says when it may: at any
time, before the connection is ready, or once it is ready. `MAY_PASS` turns that into a rule per
state and sender; in the stateless era every message may.

This module knows neither side by name, and no message but by its phase.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final, TypeAlias

from ..core.spec import Phase, Role


class State(Enum):
    """A state in the life of a connection."""

    NEW = "new"
    """Nothing has been said; in the stateless era this stays so."""
    OPENING = "opening"
    """`initialize` was sent and waits for its answer."""
    OPEN_PENDING = "open, pending"
    """`initialize` was answered and waits for its confirmation."""
    OPEN = "open"
    """Both sides may use what they agreed on."""
    CLOSED = "closed"


class Event(Enum):
    """A step that moves a connection on."""

    INITIALIZE = "initialize"
    INITIALIZE_ACCEPTED = "result of initialize"
    INITIALIZE_REFUSED = "error to initialize"
    INITIALIZED = "notifications/initialized"
    MESSAGE = "any other message"
    END = "the transport ends"


Table: TypeAlias = Mapping[tuple[State, Event], State]

HANDSHAKE: Final[Table] = MappingProxyType(
    {
        # 2025-11-25, basic/lifecycle, "Initialization"
        (State.NEW, Event.INITIALIZE): State.OPENING,
        (State.OPENING, Event.INITIALIZE_ACCEPTED): State.OPEN_PENDING,
        # basic/lifecycle, "Error Handling": a client may try again on a new connection
        (State.OPENING, Event.INITIALIZE_REFUSED): State.CLOSED,
        (State.OPEN_PENDING, Event.INITIALIZED): State.OPEN,
        # Pings, and what belongs to them, pass in every state.
        (State.NEW, Event.MESSAGE): State.NEW,
        (State.OPENING, Event.MESSAGE): State.OPENING,
        (State.OPEN_PENDING, Event.MESSAGE): State.OPEN_PENDING,
        # basic/lifecycle, "Operation"
        (State.OPEN, Event.MESSAGE): State.OPEN,
        # basic/lifecycle, "Shutdown": no message says goodbye
        (State.NEW, Event.END): State.CLOSED,
        (State.OPENING, Event.END): State.CLOSED,
        (State.OPEN_PENDING, Event.END): State.CLOSED,
        (State.OPEN, Event.END): State.CLOSED,
    }
)

STATELESS: Final[Table] = MappingProxyType(
    {
        # 2026-07-28, basic, "Statelessness"
        (State.NEW, Event.MESSAGE): State.NEW,
        (State.NEW, Event.END): State.CLOSED,
    }
)


class IllegalTransition(Exception):
    """An event that cannot happen in a state; whose fault that is, the caller knows."""

    def __init__(self, state: State, event: Event) -> None:
        super().__init__(f"{event.value} cannot happen while the connection is {state.value}")
        self.state: Final = state
        self.event: Final = event


def advance(table: Table, state: State, event: Event) -> State:
    """Return the state that `event` leads to; raise `IllegalTransition`."""
    try:
        return table[state, event]
    except KeyError:
        raise IllegalTransition(state, event) from None


_BOTH: Final = frozenset[Role]({"client", "server"})
_CLIENT: Final = frozenset[Role]({"client"})
_NOBODY: Final = frozenset[Role]()

MAY_PASS: Final[Mapping[tuple[State, Phase], frozenset[Role]]] = MappingProxyType(
    {
        # Until initialize is answered a client sends nothing but pings beside it, and a server
        # nothing but pings and log entries (basic/lifecycle, "Initialization").
        (State.NEW, "any"): _BOTH,
        (State.NEW, "before_ready"): _CLIENT,
        (State.NEW, "ready"): _NOBODY,
        (State.OPENING, "any"): _BOTH,
        (State.OPENING, "before_ready"): _NOBODY,
        (State.OPENING, "ready"): _NOBODY,
        # The rule for clients ends with the answer, the one for servers with the confirmation.
        (State.OPEN_PENDING, "any"): _BOTH,
        (State.OPEN_PENDING, "before_ready"): _CLIENT,
        (State.OPEN_PENDING, "ready"): _CLIENT,
        (State.OPEN, "any"): _BOTH,
        (State.OPEN, "before_ready"): _NOBODY,
        (State.OPEN, "ready"): _BOTH,
        (State.CLOSED, "any"): _NOBODY,
        (State.CLOSED, "before_ready"): _NOBODY,
        (State.CLOSED, "ready"): _NOBODY,
    }
)
"""Who may send a message of a phase in a state of the handshake era."""


def may_pass(state: State, phase: Phase, sender: Role) -> bool:
    """Return whether `sender` may send a message of that phase now, in the handshake era."""
    return sender in MAY_PASS[state, phase]
