"""The expectations of a revision: its types, their senders, and which types an SDK may omit."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mcp_protogen.base.graph import reach
from mcp_protogen.base.names import type_name
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.instep.audit.member_types import leaves
from mcp_protogen.instep.vectors.envelope import ENVELOPE_PREFIX
from mcp_protogen.instep.vectors.vector import title
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.extended_revision import extend_revision
from mcp_protogen.pipeline.derive.recursion import names_in, uses
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.inputs import extensions, sources
from mcp_protogen.pipeline.ir import (
    BOTH,
    EMITTERS,
    NOBODY,
    OTHER,
    ListOf,
    LiteralOf,
    MapOf,
    ObjectIR,
    OneOf,
    Ref,
    RevisionIR,
    Senders,
    TypeExpr,
    TypeIR,
    UnionIR,
)

Json = dict[str, Any]

_ANSWERS = frozenset(("result", "error"))
ENVELOPE_MEMBERS = frozenset(("jsonrpc", "id"))
"""Members of a message that many SDKs keep in a type around it."""


@dataclass(frozen=True)
class ExpectedTypes:
    """One revision: its IR, and the schema's own name for each type that has one there.

    `json_schemas` are members that contain a JSON Schema, for which the IR only says that they are
    objects. `patched` are the places where the published schema was corrected, and `schema` is the
    result. With an `extension`, the audit covers only `own`, the types and methods of the
    extension.
    """

    ir: RevisionIR
    wire_names: Mapping[str, str]
    json_schemas: frozenset[str]
    patched: frozenset[str]
    schema: Json
    extension: str = ""
    own: frozenset[str] = frozenset()

    def audits(self, name: str) -> bool:
        """Return whether a type or a method is audited."""
        return not self.extension or name in self.own

    @property
    def title(self) -> str:
        """Return the name of the revision or extension."""
        return title(self.ir.id, self.extension)

    @cached_property
    def types(self) -> Mapping[str, TypeIR]:
        """The types by name, including those of inline objects."""
        return {str(type_.name): type_ for type_ in self.ir.types}

    @cached_property
    def messages(self) -> Mapping[str, str]:
        """The method of each type that is a whole message."""
        return {str(method.message): method.method for method in self.ir.methods}

    @cached_property
    def senders(self) -> Mapping[str, Senders]:
        """The senders of each type, also inside other values; types without any are left out."""
        found = dict(self._senders)
        for name, roles in self.inline_definitions.items():
            for below in self.types_within((name,)) - self._senders.keys():
                found[below] = roles
        return found

    @cached_property
    def inline_definitions(self) -> Mapping[str, Senders]:
        """The definitions of single answers or errors, or of values of a `_meta` key.

        Those of an extension that are in no message of it are such values, or its settings. Members
        of any type have them, so an SDK can do without these types.
        """
        emitters: dict[object, Senders] = {}
        for error in self.ir.errors:
            emitters[error.code] = EMITTERS[error.emit] or BOTH
        anywhere = [*(key.item_type for key in self.ir.meta_keys), *self.own]
        found: dict[str, Senders] = {name: BOTH for name in anywhere if name in self.types}
        for name, type_ in self.types.items():
            wires = {f.wire: f for f in type_.fields} if isinstance(type_, ObjectIR) else {}
            contained = [n for wire in _ANSWERS & wires.keys() for n in names_in(wires[wire].type)]
            codes = {code for n in (name, *contained) for code in self.constants(n).get("code", ())}
            if emitting := [emitters[code] for code in codes & emitters.keys()]:
                found[name] = NOBODY.union(*emitting)
            elif "result" in wires:
                found[name] = BOTH
        return {name: roles for name, roles in found.items() if name not in self._senders}

    @cached_property
    def _senders(self) -> Mapping[str, Senders]:
        found: dict[str, Senders] = {}
        for name, roles in self._roots():
            self._spread(name, roles, found)
        return found

    def objects(self, name: str) -> tuple[Ref, ...]:
        """Return the objects among the alternatives that a name stands for."""
        found = leaves(Ref(name), self.resolve)
        return tuple(leaf for leaf in found if isinstance(leaf, Ref))

    def trail(self, name: str, steps: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the objects that steps from a type lead through, with the other steps of each."""
        for leaf in leaves(Ref(name), self.resolve):
            yield from self._trail(leaf, tuple(steps))

    def _trail(
        self, leaf: TypeExpr, steps: tuple[str, ...]
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        if isinstance(leaf, Ref):
            yield leaf.name, steps
        below = self._step(leaf, steps[0]) if steps else None
        if below is not None:
            for inner in leaves(below, self.resolve):
                yield from self._trail(inner, steps[1:])

    def _step(self, leaf: TypeExpr, step: str) -> TypeExpr | None:
        match leaf:
            case ListOf(inside) | MapOf(inside):
                return inside
            case Ref(name):
                type_ = self.types[name]
                fields = type_.fields if isinstance(type_, ObjectIR) else ()
                return next((f.type for f in fields if f.wire == step), None)
            case _:
                return None

    def is_patched(self, pointer: str) -> bool:
        """Return whether a place in the schema was corrected, or is inside such a place."""
        if any(pointer == place or pointer.startswith(f"{place}/") for place in self.patched):
            return True
        # Required members are listed beside the members, for all of them.
        return f"{pointer.rsplit('/properties/', 1)[0]}/required" in self.patched

    def types_within(self, names: Iterable[str]) -> frozenset[str]:
        """Return these types and the types of everything inside their values."""
        return frozenset(reach(names, lambda name: uses(self.types[name])))

    def resolve(self, name: str) -> TypeExpr | None:
        """Return the type that a union or an alias stands for; None for an object."""
        type_ = self.types[name]
        if isinstance(type_, ObjectIR):
            return None
        if isinstance(type_, UnionIR):
            return OneOf(type_.arms)
        return type_.type

    def constants(self, name: str) -> dict[str, frozenset[object]]:
        """Return the members of an object that only contain constants, by wire name."""
        type_ = self.types[name]
        found = type_.fields if isinstance(type_, ObjectIR) else ()
        shapes = {field.wire: field.type for field in found}
        return {w: frozenset(s.values) for w, s in shapes.items() if isinstance(s, LiteralOf)}

    def _roots(self) -> Iterator[tuple[str, Senders]]:
        for method in self.ir.methods:
            senders: Senders = frozenset(method.senders)
            yield str(method.message), senders
            yield str(method.params), senders
            answering: Senders = frozenset(OTHER[role] for role in senders)
            for result in method.results:
                yield str(result), answering
        for error in self.ir.errors:
            if error.data is not None and error.emit != "never":
                yield str(error.data), EMITTERS[error.emit]
        for name in self.types:
            if name.startswith(ENVELOPE_PREFIX):
                yield name, BOTH

    def _spread(self, name: str, roles: Senders, found: dict[str, Senders]) -> None:
        before = found.get(name, frozenset())
        if roles <= before:
            return
        found[name] = before | roles
        for below in uses(self.types[name]):
            self._spread(below, roles, found)


def load_expected(revision: str, extension: str = "") -> ExpectedTypes:
    """Return the expectations of a pinned revision, or of an extension in it.

    Raise `ProblemError` if it is not pinned.
    """
    source = sources.load(revision, GenerationOptions((revision,)))
    own: frozenset[str] = frozenset()
    if extension:
        made = extend_revision(extensions.load(extension, schema_folder()), source)
        source, derived = made.source, made.derived
        core = {type_.name for type_ in made.core.types}
        own = made.methods | {type_.name for type_ in derived.ir.types if type_.name not in core}
    else:
        derived = derive_revision(source)
    named = {type_name(name): name for name in source.schema["$defs"]}
    patched = frozenset(patch["pointer"] for patch in source.patches)
    schema = source.apply_patches()
    json_schemas = source.facts.json_schemas
    return ExpectedTypes(derived.ir, named, json_schemas, patched, schema, extension, own)
