"""The opening of a connection, as a table, and the needs of messages.

Up to 2025-11-25 a connection begins with a handshake: the client offers a revision, the server
answers with one, the client confirms. Answer and confirmation change the state of both sides. A
method's entry has the phase in which its message is allowed; the stateless era has no phases.
Capabilities that both sides have declared for good are not looked up for each message.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, get_args

from ..core.errors import LocalError
from ..core.spec import CallSpec, Phase, Requirement, Role
from .capabilities import Declared, require

TASK: Final = "task"
"""The member that asks for a call as a task (2025-11-25)."""


class State(Enum):
    NEW = "new"
    """`initialize` was not answered; the stateless era stays here."""
    OPEN_PENDING = "open, pending"
    """`initialize` was answered, but not confirmed."""
    OPEN = "open"
    """Both sides may use what they agreed on."""


_BOTH: Final = frozenset[Role]({"client", "server"})
_CLIENT: Final = frozenset[Role]({"client"})
_NOBODY: Final = frozenset[Role]()

MAY_PASS: Final[Mapping[tuple[State, Phase], frozenset[Role]]] = MappingProxyType(
    {
        (state, phase): senders
        for state, row in {
            # Until initialize is answered a client only sends pings beside it, and a server only
            # pings and log entries (basic/lifecycle, "Initialization").
            State.NEW: (_BOTH, _CLIENT, _NOBODY),
            # The rule for clients ends with the answer, the one for servers with the confirmation.
            State.OPEN_PENDING: (_BOTH, _CLIENT, _CLIENT),
            State.OPEN: (_BOTH, _NOBODY, _BOTH),
        }.items()
        for phase, senders in zip(get_args(Phase), row, strict=True)
    }
)
"""The senders allowed in each state of the handshake era, by phase."""


def check(spec: CallSpec[Any], sender: Role, params: object, declared: Declared) -> None:
    """Raise `LocalError` unless `sender` may send a message.

    That is `MissingCapability` if one is not in `declared`, the capabilities of both sides.
    """
    if sender not in spec.senders:
        raise LocalError(f"a {sender} must not send {spec.method}")
    require(spec.method, spec.requires, sender, params, declared)


class OpenNeeds(dict[CallSpec[Any], tuple[Requirement, ...]]):
    """The requirements of messages that `role` does not meet itself, computed at first access."""

    def __init__(self, role: Role, declared: Mapping[str, Any]) -> None:
        super().__init__()
        self._role = role
        self._declared = declared

    def __missing__(self, spec: CallSpec[Any]) -> tuple[Requirement, ...]:
        needs = self[spec] = tuple(
            need
            for need in spec.requires
            if need.capability.role != self._role
            or not (need.capability.declared_in(self._declared) or _is_passed_over(need))
        )
        return needs


def _is_passed_over(need: Requirement) -> bool:
    # Receivers ignore the `task` of a request (2025-11-25, basic/utilities/tasks, "Task Support and
    # Handling").
    return any(condition.member == TASK for condition in need.when)


def open_needs(spec: CallSpec[Any], sender: Role, declared: Declared) -> tuple[Requirement, ...]:
    """Return the undeclared needs of a message of `sender`."""
    return tuple(
        need
        for need in spec.requires
        if need.sender == sender
        and (need.level == "MUST" or _is_passed_over(need))
        and not need.capability.declared_in(declared[need.capability.role])
    )
