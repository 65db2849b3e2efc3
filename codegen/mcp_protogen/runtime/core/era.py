"""The two eras of the protocol, as the differences between them.

Up to 2025-11-25 a client and a server begin with a handshake, and what they agree on there holds
for the connection. From 2026-07-28 on every request stands by itself. Which era a revision is of
says its method table; what follows from that is looked up here and decided nowhere else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

EraName: TypeAlias = Literal["handshake", "stateless"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Era:
    """How the revisions of an era differ from those of the other."""

    name: EraName
    opened_by: str
    """The request whose answer says what the server declares and is called."""
    has_handshake: bool
    """Whether a connection has to be opened before most messages may pass."""
    remembers_client: bool
    """Whether what a client declares, is called and wants logged holds for its connection.

    Otherwise each request says it in its `_meta`.
    """
    has_listen_streams: bool
    """Whether changes go to the streams that asked for them, and not to each connection."""
    signs_results: bool
    """Whether the `_meta` of each result says what the server is called."""
    names_missing_capabilities: bool
    """Whether an error of its own says which capability a client has not declared."""


HANDSHAKE_ERA: Final = Era(
    name="handshake",
    opened_by="initialize",  # 2025-11-25, basic/lifecycle, "Initialization"
    has_handshake=True,  # the same
    remembers_client=True,  # the same, and server/utilities/logging, "Setting Log Level"
    has_listen_streams=False,  # 2025-11-25, server/resources, "Subscriptions"
    signs_results=False,  # the answer to `initialize` says it
    names_missing_capabilities=False,  # no page has one
)

STATELESS_ERA: Final = Era(
    name="stateless",
    opened_by="server/discover",  # 2026-07-28, server/discover
    has_handshake=False,  # 2026-07-28, basic, "Statelessness"
    remembers_client=False,  # the same
    has_listen_streams=True,  # 2026-07-28, basic/patterns/subscriptions
    signs_results=True,  # 2026-07-28, basic, "_meta"
    names_missing_capabilities=True,  # 2026-07-28, basic, "Error Codes"
)

ERAS: Final[Mapping[EraName, Era]] = MappingProxyType(
    {era.name: era for era in (HANDSHAKE_ERA, STATELESS_ERA)}
)
"""Both, by name."""
