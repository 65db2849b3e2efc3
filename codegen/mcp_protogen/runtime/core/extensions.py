"""The additions of a protocol extension to a revision, as data.

Generated tables consist of these (2026-07-28, basic/versioning, "Extension Negotiation").
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

from .json import JSONObject, is_object
from .spec import AnyRequest, ErrorSpec, NotificationSpec, Role


def _empty_mapping() -> Mapping[Any, Any]:
    # Before Python 3.12, a mapping proxy cannot be a default value.
    return MappingProxyType({})


class ClaimedResult(NamedTuple):
    """An additional result of a method, known by its `resultType`.

    `load` returns its class, at the first use.
    """

    method: str
    result_type: str
    load: Callable[[], type[Any]]


class AddedMembers(NamedTuple):
    """Additional members of a type in the messages of one method.

    `load` returns the subclass with them.
    """

    method: str
    load: Callable[[], type[Any]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Extension:
    """One extension in one revision: its methods, and its additions to existing ones.

    `rules` has fields of `Rules`, and `settings` the default declaration of each role. `items` is
    for toolkits. `table` loads its class of tables.
    """

    identifier: str
    revision: str
    requests: Mapping[str, AnyRequest] = field(default_factory=_empty_mapping)
    notifications: Mapping[str, NotificationSpec[Any]] = field(default_factory=_empty_mapping)
    errors: Mapping[int, ErrorSpec] = field(default_factory=_empty_mapping)
    claims: tuple[ClaimedResult, ...] = ()
    members: tuple[AddedMembers, ...] = ()
    rules: Mapping[str, Any] = field(default_factory=_empty_mapping)
    settings: Mapping[Role, Mapping[str, Any]] = field(default_factory=_empty_mapping)
    items: Callable[[], ModuleType] | None = None
    table: Callable[[], Callable[..., Any]] | None = None

    def declare(self, role: Role, declared: JSONObject) -> None:
        declared[self.identifier] = dict(self.settings[role])

    def is_declared(self, declared: object) -> bool:
        return is_object(declared) and self.identifier in declared
