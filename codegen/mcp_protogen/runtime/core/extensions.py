"""What an extension of the protocol adds to a revision, as data.

Generated tables are made of this (2026-07-28, basic/versioning, "Extension Negotiation").
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, ModuleType
from typing import Any

from .spec import AnyRequest, ErrorSpec, NotificationSpec, Role


def _empty_mapping() -> Mapping[Any, Any]:
    # Before Python 3.12, a proxy of a mapping cannot be a default itself.
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClaimedResult:
    """A result that a method of the revision may have besides its own, by its `resultType`.

    `load` returns its class; it is called at the first use.
    """

    method: str
    result_type: str
    load: Callable[[], type[Any]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AddedMembers:
    """A type of the revision that has further members in the messages of a method.

    `load` returns the subclass that has them; it is called at the first use.
    """

    method: str
    load: Callable[[], type[Any]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Extension:
    """One extension in one revision: further methods, and what it adds to those that there are.

    `names` has the member of the params that the header field `Mcp-Name` repeats, by method.
    `settings` is what a role declares, unless a class says something else. `items` is for toolkits.
    """

    identifier: str
    revision: str
    requests: Mapping[str, AnyRequest] = field(default_factory=_empty_mapping)
    notifications: Mapping[str, NotificationSpec[Any]] = field(default_factory=_empty_mapping)
    errors: Mapping[int, ErrorSpec] = field(default_factory=_empty_mapping)
    claims: tuple[ClaimedResult, ...] = ()
    members: tuple[AddedMembers, ...] = ()
    names: Mapping[str, str] = field(default_factory=_empty_mapping)
    settings: Mapping[Role, Mapping[str, Any]] = field(default_factory=_empty_mapping)
    items: Callable[[], ModuleType] | None = None
