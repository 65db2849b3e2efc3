"""The intermediate representation of what an extension adds to a revision, as frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp_protogen.base.names import ClassName, ModuleName
from mcp_protogen.pipeline.ir import ROLES, MethodIR, RevisionIR, Role
from mcp_protogen.runtime.core.extension_versions import VersionRule


@dataclass(frozen=True, slots=True)
class ClaimIR:
    """A further result of a core method, identified by its `resultType`."""

    method: str
    result_type: str
    type: ClassName


@dataclass(frozen=True, slots=True)
class MembersIR:
    """A type whose members are added to a core type in the messages of a method."""

    method: str
    type: ClassName


@dataclass(frozen=True, slots=True)
class VersionIR:
    """A version of an extension in a revision that tells versions apart, by a rule.

    `family` is the name of the first version. `base` is the least that a side with this version
    has. `suffix` is that of its methods and stubs, empty for the first version.
    """

    version: str
    family: str
    base: str
    suffix: str
    rule: VersionRule


@dataclass(frozen=True, slots=True)
class DocumentIR:
    """A document that servers publish over HTTP: its place, type or content, and header fields.

    Texts in it, each at a place, must match `patterns`.
    """

    name: str
    place: str
    media_type: str
    headers: Mapping[str, str]
    type: ClassName | None
    patterns: Mapping[str, str]
    content: Mapping[str, Any]
    source: str


@dataclass(frozen=True, slots=True)
class ExtensionIR:
    """The additions of an extension to a revision.

    `ir` has only its own types and methods; types may name those of `core`, the revision without
    it. `settings` are the declarations of each role that it binds. `version` is None where an
    extension has only one.
    """

    name: str
    module: ModuleName
    identifier: str
    ir: RevisionIR
    core: RevisionIR
    claims: tuple[ClaimIR, ...]
    members: tuple[MembersIR, ...]
    settings: Mapping[Role, Mapping[str, Any]]
    version: VersionIR | None = None
    documents: tuple[DocumentIR, ...] = ()

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles that declare something, or have messages or documents."""
        is_for_both = bool(self.ir.methods or self.documents)
        return tuple(role for role in ROLES if role in self.settings or is_for_both)

    @property
    def streams(self) -> Mapping[str, tuple[MethodIR, ...]]:
        """The notifications on the streams of its own requests, by request."""
        carried: dict[str, tuple[MethodIR, ...]] = {}
        own = {method.method for method in self.ir.methods}
        for method in self.ir.methods:
            if method.stream is not None and method.stream.request in own:
                request = method.stream.request
                carried[request] = (*carried.get(request, ()), method)
        return carried

    @property
    def principals(self) -> Mapping[str, int]:
        """Its requests that need an authenticated sender, with the code of the error."""
        return {method.method: method.principal for method in self.ir.methods if method.principal}

    @property
    def has_streams(self) -> bool:
        """Return whether its requests have streams, or need an authenticated sender."""
        return bool(self.streams or self.principals)
