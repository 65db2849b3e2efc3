"""The opening of a connection, as a table.

Up to 2025-11-25 a connection begins with a handshake: the client offers a revision, the server
answers with one, the client confirms. Each side keeps a state, which answer and confirmation change
at the sender and at the receiver. No other message changes it.
From 2026-07-28 on there is nothing to agree on: every request says all that is needed to understand
it (basic, "Statelessness").

A method's entry has the phase in which its message may pass; in the stateless era every one may.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from ..core.spec import Phase, Role


class State(Enum):
    """A state of a connection that opens."""

    NEW = "new"
    """`initialize` was not answered; in the stateless era this stays so."""
    OPEN_PENDING = "open, pending"
    """`initialize` was answered and waits for its confirmation."""
    OPEN = "open"
    """Both sides may use what they agreed on."""


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
            # The rule for clients ends with the answer, the one for servers with the confirmation.
            State.OPEN_PENDING: (_BOTH, _CLIENT, _CLIENT),
            State.OPEN: (_BOTH, _NOBODY, _BOTH),
        }.items()
        for phase, senders in zip(_PHASES, row, strict=True)
    }
)
"""Who may send a message of a phase in a state of the handshake era."""
