"""The expectations of a revision: its types, their senders, and which types an SDK may omit."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mcp_protogen.audit.shapes import (
    ListOf,
    Literals,
    MapOf,
    Named,
    OneOf,
    Shape,
    leaves,
    names_in,
    of_ir,
)
from mcp_protogen.base.names import type_name
from mcp_protogen.config import GenerationOptions
from mcp_protogen.derive.revision import derive_revision
from mcp_protogen.inputs import patches, sources
from mcp_protogen.ir import OTHER, ObjectIR, RevisionIR, Role, TypeExpr, TypeIR, UnionIR
from mcp_protogen.vectors.envelope import ENVELOPE_PREFIX

Json = dict[str, Any]

_CLIENT: frozenset[Role] = frozenset(("client",))
_SERVER: frozenset[Role] = frozenset(("server",))
_BOTH = _CLIENT | _SERVER
_EMITTERS: Mapping[str, frozenset[Role]] = {"client": _CLIENT, "server": _SERVER, "both": _BOTH}
_ANSWERS = frozenset(("result", "error"))
ENVELOPE_MEMBERS = frozenset(("jsonrpc", "id"))
"""Members of a message that many SDKs keep in a type around it."""


@dataclass(frozen=True)
class Expected:
    """One revision: its IR, and the schema's own name for each type that has one there.

    `json_schemas` are members that hold a JSON Schema, for which the IR only says that they are
    objects. `patched` are the places where the published schema was corrected, and `schema` is the
    result.
    """

    ir: RevisionIR
    wire_names: Mapping[str, str]
    json_schemas: frozenset[str]
    patched: frozenset[str]
    schema: Json

    @cached_property
    def types(self) -> Mapping[str, TypeIR]:
        """The types by name, including those of inline objects."""
        return {str(type_.name): type_ for type_ in self.ir.types}

    @cached_property
    def messages(self) -> Mapping[str, str]:
        """The method of each type that is a whole message."""
        return {str(method.message): method.method for method in self.ir.methods}

    @cached_property
    def senders(self) -> Mapping[str, frozenset[Role]]:
        """The senders of each type, also inside other values; types without any are left out."""
        found = dict(self._sent)
        for name, roles in self.spelled_out.items():
            for below in self.below((name,)) - self._sent.keys():
                found[below] = roles
        return found

    @cached_property
    def spelled_out(self) -> Mapping[str, frozenset[Role]]:
        """The definitions of single answers or errors, or of values of a `_meta` key.

        Their values travel, but in members of types that hold anything: an SDK can do without them.
        """
        emitters: dict[object, frozenset[Role]] = {}
        for error in self.ir.errors:
            emitters[error.code] = _EMITTERS.get(error.emit, _BOTH)
        found = {key.type: _BOTH for key in self.ir.meta_keys if key.type in self.types}
        for name, type_ in self.types.items():
            wires = {f.wire: f for f in type_.fields} if isinstance(type_, ObjectIR) else {}
            held = [
                n for wire in _ANSWERS & wires.keys() for n in names_in(of_ir(wires[wire].type))
            ]
            codes = {code for n in (name, *held) for code in self.constants(n).get("code", ())}
            if emitting := [emitters[code] for code in codes & emitters.keys()]:
                found[name] = frozenset[Role]().union(*emitting)
            elif "result" in wires:
                found[name] = _BOTH
        return {name: roles for name, roles in found.items() if name not in self._sent}

    @cached_property
    def _sent(self) -> Mapping[str, frozenset[Role]]:
        found: dict[str, frozenset[Role]] = {}
        for name, roles in self._roots():
            self._spread(name, roles, found)
        return found

    def objects(self, name: str) -> tuple[Named, ...]:
        """Return the objects among the alternatives that a name stands for."""
        found = leaves(Named(name), self.meaning)
        return tuple(leaf for leaf in found if isinstance(leaf, Named))

    def trail(self, name: str, steps: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the objects that steps from a type lead through, with the other steps of each."""
        for leaf in leaves(Named(name), self.meaning):
            yield from self._trail(leaf, tuple(steps))

    def _trail(self, leaf: Shape, steps: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
        if isinstance(leaf, Named):
            yield leaf.key, steps
        below = self._step(leaf, steps[0]) if steps else None
        if below is not None:
            for inner in leaves(below, self.meaning):
                yield from self._trail(inner, steps[1:])

    def _step(self, leaf: Shape, step: str) -> Shape | None:
        match leaf:
            case ListOf(inside) | MapOf(inside):
                return inside
            case Named(name):
                type_ = self.types[name]
                fields = type_.fields if isinstance(type_, ObjectIR) else ()
                return next((of_ir(f.type) for f in fields if f.wire == step), None)
            case _:
                return None

    def is_patched(self, pointer: str) -> bool:
        """Return whether a place in the schema was corrected, or is inside such a place."""
        if any(pointer == place or pointer.startswith(f"{place}/") for place in self.patched):
            return True
        # Required members are listed beside the members, for all of them.
        return f"{pointer.rsplit('/properties/', 1)[0]}/required" in self.patched

    def below(self, names: Iterable[str]) -> frozenset[str]:
        """Return these types and all that their values may contain."""
        found: dict[str, frozenset[Role]] = {}
        for name in names:
            self._spread(name, _BOTH, found)
        return frozenset(found)

    def meaning(self, name: str) -> Shape | None:
        """Return the type that a union or an alias stands for; None for an object."""
        type_ = self.types[name]
        if isinstance(type_, ObjectIR):
            return None
        if isinstance(type_, UnionIR):
            return OneOf(tuple(map(of_ir, type_.arms)))
        return of_ir(type_.type)

    def constants(self, name: str) -> dict[str, frozenset[object]]:
        """Return the members of an object that only hold constants, by wire name."""
        type_ = self.types[name]
        found = type_.fields if isinstance(type_, ObjectIR) else ()
        shapes = {field.wire: of_ir(field.type) for field in found}
        return {w: frozenset(s.values) for w, s in shapes.items() if isinstance(s, Literals)}

    def _roots(self) -> Iterator[tuple[str, frozenset[Role]]]:
        for method in self.ir.methods:
            senders: frozenset[Role] = frozenset(method.senders)
            yield str(method.message), senders
            yield str(method.params), senders
            answering: frozenset[Role] = frozenset(OTHER[role] for role in senders)
            for result in method.results:
                yield str(result), answering
        for error in self.ir.errors:
            if error.data is not None and error.emit != "never":
                yield str(error.data), _EMITTERS[error.emit]
        for name in self.types:
            if name.startswith(ENVELOPE_PREFIX):
                yield name, _BOTH

    def _spread(self, name: str, roles: frozenset[Role], found: dict[str, frozenset[Role]]) -> None:
        before = found.get(name, frozenset())
        if roles <= before:
            return
        found[name] = before | roles
        for below in referred(self.types[name]):
            self._spread(below, roles, found)


def expected(revision: str) -> Expected:
    """Return the expectations of a pinned revision; raise `ProblemError` if it is not pinned."""
    source = sources.load(revision, GenerationOptions((revision,)))
    derived = derive_revision(source)
    named = {type_name(name): name for name in source.schema["$defs"]}
    patched = frozenset(patch["pointer"] for patch in source.ledger)
    schema = patches.apply(source.schema, source.ledger, source.ledger_place)
    return Expected(derived.ir, named, source.facts.json_schemas, patched, schema)


def referred(type_: TypeIR) -> Iterator[str]:
    """Yield the types that a type names."""
    if isinstance(type_, ObjectIR):
        expressions: Iterable[TypeExpr] = [field.type for field in type_.fields]
    elif isinstance(type_, UnionIR):
        expressions = type_.arms
    else:
        expressions = (type_.type,)
    for expression in expressions:
        yield from names_in(of_ir(expression))
