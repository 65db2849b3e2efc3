"""Versions of an extension under one identifier, as a revision tells them apart.

Which members of a declaration have them, how two versions agree, and the error for an unsupported
one, are facts of the revision. The runtime calls a method of a further version by its name
and a suffix, which it does not have on the wire.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from .extensions import Extension
from .json import JSONObject, is_array, is_object
from .json_pointers import value_at
from .spec import Capability, Role

# Python refuses to read very long numbers.
_SEMANTIC: Final = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?(?:[.+-].*)?")


class VersionError(NamedTuple):
    """The error for an unsupported version: its code, and members of its data.

    `by_identifier` has an object for each identifier, with the version that was `requested`, and
    those that are `supported`.
    """

    code: int
    by_identifier: str
    requested: str
    supported: str


class VersionRule(NamedTuple):
    """How the sides of a revision say and compare versions of an extension.

    `members` are the members of a declaration that have the version, by role; that of a server has
    all of its versions, if `listed`. A declaration without stands for the version `absent`.
    Versions agree by their `major` number, and the lower minor counts; by the `minor` one where the
    identifier has the major; or only if they are the `same`. Without an `error`, an unsupported
    version switches the extension off; so does a declaration whose member at `floors` names a later
    revision than this `revision`.
    """

    members: Mapping[Role, str]
    listed: bool
    absent: str
    agree: Literal["major", "minor", "same"]
    error: VersionError | None = None
    floors: Mapping[Role, tuple[str, ...]] = MappingProxyType({})
    revision: str = ""

    @property
    def lists_all(self) -> bool:
        """Return whether a server declares all versions of an identifier, which may be only one."""
        return self.listed or self.agree == "minor"

    def versions_in(self, settings: Any, role: Role) -> list[str]:
        """Return the versions in a declaration of a role; none if it needs a later revision."""
        if not is_object(settings):
            return []
        least = value_at(settings, floor) if (floor := self.floors.get(role)) else None
        # Revisions are named by dates, so names sort.
        if isinstance(least, str) and least > self.revision:
            return []
        value = settings.get(self.members[role], self.absent)
        versions = value if is_array(value) else [value]
        return [version for version in versions if isinstance(version, str)]

    def base(self, version: str) -> str:
        """Return the part of a version on which sides have to agree."""
        return version if self.agree == "same" else str(_numbers(version)[0])

    def agrees(self, needed: str, versions: Iterable[str]) -> bool:
        """Return whether one of the versions has all of the `needed` one."""
        if self.agree == "same":
            return needed in versions
        major, minor = _numbers(needed)
        found = [_numbers(version) for version in versions]
        if self.agree == "minor":
            found = [(major, its_minor if its == major else 0) for its, its_minor in found]
        return any(its == major and its_minor >= minor for its, its_minor in found)

    def order(self, version: str) -> tuple[int, int, str]:
        """Return a key that sorts versions, later ones last."""
        major, minor = (0, 0) if self.agree == "same" else _numbers(version)
        return major, minor, version


def _numbers(version: str) -> tuple[int, int]:
    """Return the major and the minor number; an unknown minor counts as 0."""
    match = _SEMANTIC.fullmatch(version)
    return (int(match[1]), int(match[2] or 0)) if match else (-1, 0)


class VersionCapability(Capability):
    """The declaration of an extension in a version that has all of `version`."""

    version: str
    rule: VersionRule

    def __new__(
        cls, role: Role, path: tuple[str, ...], *, version: str, rule: VersionRule
    ) -> "VersionCapability":
        """Return the capability at a path, for a version."""
        made = super().__new__(cls, role, path)
        made.version, made.rule = version, rule
        return made

    @property
    def name(self) -> str:
        """The dotted path, and the version."""
        return f"{super().name} {self.version}"

    def declared_in(self, capabilities: Mapping[str, Any]) -> bool:
        """Return whether capabilities declare the extension in a version with all of this one."""
        value: Any = capabilities
        for step in self.path:
            value = value.get(step) if is_object(value) else None
        return self.rule.agrees(self.version, self.rule.versions_in(value, self.role))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VersionedExtension(Extension):
    """One version of an extension.

    Those of one `family` exclude each other in a request. `base` is the least that a side with this
    version has, and `suffix` that of its methods.
    """

    version: str
    family: str
    base: str
    suffix: str
    rule: VersionRule
    steps: Callable[[], tuple[Any, ...]] = tuple
    """Loads the other versions into which rules translate it."""

    def declare(self, role: Role, declared: JSONObject) -> None:
        """Add this version to a declaration; a client declares only the last one."""
        settings: JSONObject = {**declared.get(self.identifier, {}), **self.settings[role]}
        member, version = self.rule.members[role], self.version
        listed = role == "server" and self.rule.listed
        settings[member] = [*settings.get(member, ()), version] if listed else version
        declared[self.identifier] = settings

    def is_declared(self, declared: object) -> bool:
        """Return whether a client has declared this version."""
        settings = declared.get(self.identifier) if is_object(declared) else None
        return self.fits("client", settings)

    def fits(self, role: Role, settings: Any) -> bool:
        """Return whether a declaration of a role has this version."""
        return self.rule.agrees(self.base, self.rule.versions_in(settings, role))
