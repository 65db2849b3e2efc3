"""The types and constants that the probe found in an SDK, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp_protogen.instep.audit.member_types import of_json
from mcp_protogen.pipeline.ir import Anything, LiteralOf, TypeExpr

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SdkMember:
    """A member of a class: its wire name, and its name in Python."""

    wire: str
    name: str
    type: TypeExpr
    required: bool
    default: Any


@dataclass(frozen=True, slots=True)
class SdkType:
    """A class (`kind` object), enumeration or alias (root models are aliases) of an SDK.

    `key` is `module:name`; `seen_in` are the SDK's modules that contain it. `extra` says how
    undeclared members are treated: allow, ignore, forbid or unknown. `type` is the type that an
    alias or an enumeration stands for; None for a class.
    """

    key: str
    kind: str
    flavour: str
    names: tuple[str, ...]
    seen_in: tuple[str, ...]
    members: tuple[SdkMember, ...]
    extra: str
    bases: tuple[str, ...]
    type: TypeExpr | None
    labels: Mapping[str, Any]

    @property
    def module(self) -> str:
        """The module it was defined in."""
        return self.key.partition(":")[0]

    @property
    def generic(self) -> bool:
        """Return whether it is a generic class with arguments, which has no name of its own."""
        return "[" in self.key

    @property
    def title(self) -> str:
        """The name for users and for a mapping file: `mcp.types.Tool`."""
        return self.key.replace(":", ".")

    def constants(self) -> dict[str, frozenset[Any]]:
        """Return the members that only contain constants, by wire name."""
        return {
            member.wire: frozenset(member.type.values)
            for member in self.members
            if isinstance(member.type, LiteralOf)
        }


@dataclass(frozen=True, slots=True)
class SdkConstant:
    """A number, a string or several strings, with a name in capitals."""

    name: str
    value: Any
    module: str


@dataclass(frozen=True, slots=True)
class SkippedModule:
    """A module that could not be imported; `kind` is not-found, exits or fails."""

    module: str
    kind: str
    error: str


@dataclass(frozen=True, slots=True)
class SdkTable:
    """A mapping by method: the strings in each key, which may include a revision."""

    module: str
    rows: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class Description:
    """An SDK: its distribution and version, or its module; its types by key; its constants.

    `methods` are the method names among its constants, `tables` the mappings by method, and
    `through` the modules of other packages that its messages come from.
    """

    name: str
    modules: tuple[str, ...]
    types: Mapping[str, SdkType]
    constants: tuple[SdkConstant, ...]
    methods: frozenset[str]
    tables: tuple[SdkTable, ...]
    skipped: tuple[SkippedModule, ...]
    through: tuple[str, ...] = ()

    def is_exchanged(self, module: str) -> bool:
        """Return whether types of a module are sent in messages, as far as modules show that."""
        places = tuple(f"{name}." for name in self.through)
        return not places or f"{module}.".startswith(places)

    def resolve(self, key: str) -> TypeExpr | None:
        """Return the type that an alias or an enumeration stands for; None for a class."""
        type_ = self.types.get(key)
        return Anything() if type_ is None else type_.type


def of_document(document: Json) -> Description:
    """Return the values in a document of the probe."""
    return Description(
        name=document["name"],
        modules=tuple(document["modules"]),
        types={key: _type(key, entry) for key, entry in document["types"].items()},
        constants=tuple(SdkConstant(**entry) for entry in document["constants"]),
        methods=frozenset(document["methods"]),
        tables=tuple(map(_table, document["tables"])),
        skipped=read_skipped(document),
        through=tuple(document["through"]),
    )


def read_skipped(document: Json) -> tuple[SkippedModule, ...]:
    """Return the modules that could not be imported; known even if none could."""
    return tuple(SkippedModule(**entry) for entry in document["skipped"])


def _table(entry: Json) -> SdkTable:
    return SdkTable(entry["module"], tuple(map(frozenset, entry["rows"])))


def _type(key: str, entry: Json) -> SdkType:
    values = entry.get("values")
    aliased = of_json(entry["type"]) if "type" in entry else None
    return SdkType(
        key=key,
        kind=entry["kind"],
        flavour=entry.get("flavour", ""),
        names=tuple(entry["names"]),
        seen_in=tuple(entry["seen_in"]),
        members=tuple(map(_member, entry.get("members", ()))),
        extra=entry.get("extra", "unknown"),
        bases=tuple(entry.get("bases", ())),
        type=aliased if values is None else LiteralOf(tuple(values)),
        labels=dict(zip(entry.get("labels", ()), values or (), strict=False)),
    )


def _member(entry: Json) -> SdkMember:
    return SdkMember(
        wire=entry["wire"],
        name=entry["name"],
        type=of_json(entry["type"]),
        required=entry["required"],
        default=entry["default"],
    )
