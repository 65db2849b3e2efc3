"""The life of a connection, as tables.

Theory of operation. Up to 2025-11-25 a connection begins with a handshake: the client offers a
revision, the server answers with one, the client confirms. Each side keeps a state, and what either
of them does is an event; the table `HANDSHAKE` says which state an event leads to, and an event it
does not have is a breach of the protocol. Both sides walk the same table, because sending and
receiving a message are the same event. From 2026-07-28 on there is nothing to agree on: every
request says all that is needed to understand it, and `STATELESS` has one state.

A method's entry says when its message may pass: at any time, before the connection is ready, or
once it is ready. `MAY_PASS` turns that into a rule per state and sender; in the stateless era every
message may pass.
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

_UNTIL_THE_END: Final = (State.NEW, State.OPENING, State.OPEN_PENDING, State.OPEN)

HANDSHAKE: Final[Table] = MappingProxyType(
    {
        # 2025-11-25, basic/lifecycle, "Initialization"
        (State.NEW, Event.INITIALIZE): State.OPENING,
        (State.OPENING, Event.INITIALIZE_ACCEPTED): State.OPEN_PENDING,
        # basic/lifecycle, "Error Handling": a client may try again on a new connection
        (State.OPENING, Event.INITIALIZE_REFUSED): State.CLOSED,
        (State.OPEN_PENDING, Event.INITIALIZED): State.OPEN,
        # Pings, and what belongs to them, pass in every state (basic/lifecycle, "Operation").
        **{(state, Event.MESSAGE): state for state in _UNTIL_THE_END},
        # basic/lifecycle, "Shutdown": no message says goodbye
        **{(state, Event.END): State.CLOSED for state in _UNTIL_THE_END},
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
    """An event that cannot happen in a state; the caller knows whose fault it is."""

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

_PHASES: Final[tuple[Phase, ...]] = ("any", "before_ready", "ready")

MAY_PASS: Final[Mapping[tuple[State, Phase], frozenset[Role]]] = MappingProxyType(
    {
        (state, phase): senders
        for state, row in {
            # Until initialize is answered a client sends nothing but pings beside it, and a server
            # nothing but pings and log entries (basic/lifecycle, "Initialization").
            State.NEW: (_BOTH, _CLIENT, _NOBODY),
            State.OPENING: (_BOTH, _NOBODY, _NOBODY),
            # The rule for clients ends with the answer, the one for servers with the confirmation.
            State.OPEN_PENDING: (_BOTH, _CLIENT, _CLIENT),
            State.OPEN: (_BOTH, _NOBODY, _BOTH),
            State.CLOSED: (_NOBODY, _NOBODY, _NOBODY),
        }.items()
        for phase, senders in zip(_PHASES, row, strict=True)
    }
)
"""Who may send a message of a phase in a state of the handshake era."""


def may_pass(state: State, phase: Phase, sender: Role) -> bool:
    """Return whether `sender` may send a message of that phase now, in the handshake era."""
    return sender in MAY_PASS[state, phase]
