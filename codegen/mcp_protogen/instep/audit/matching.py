"""The matches between types of the SDK and types of the schema.

They are found by the mapping file, then by name, then by shape: the constant of a message or a
content block, the set of members, the values of an enumeration. Types of inline objects, whose
names we made, are also found by place: in the member that contains them.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from mcp_protogen.instep.audit.description import Description, SdkType
from mcp_protogen.instep.audit.expected import ENVELOPE_MEMBERS, ExpectedTypes
from mcp_protogen.instep.audit.mapping import NO_MAPPING, TypeMapping
from mcp_protogen.instep.audit.member_types import kinds, leaves
from mcp_protogen.instep.audit.names import fold, revision_in
from mcp_protogen.pipeline.ir import AliasIR, LiteralOf, ObjectIR, Ref, TypeExpr, TypeIR

_ALIKE = 0.75
"""The part of all members, or values, that two types with different names must share."""
_FEWEST = 2
"""The number that they must share: one alone, such as `name`, proves nothing."""
_FITTING = 0.25
"""The part of their common members that must have the same JSON type; the others may be wrong."""


class How(StrEnum):
    """The way a match was found."""

    MAPPING = "mapping"
    NAME = "name"
    SHAPE = "shape"
    PLACE = "place"


@dataclass(frozen=True, slots=True)
class Match:
    """A type of the SDK that stands for a type of the schema.

    `variants` stand for it, too: an SDK may have several classes for different uses of a type.
    """

    type: str
    key: str
    how: How
    variants: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Matching:
    """The matches, by type of the schema; `modules` are the SDK's modules of this revision.

    `left_out` are types that the user has excluded.
    """

    matches: Mapping[str, Match]
    modules: frozenset[str]
    left_out: Mapping[str, str]

    def key(self, type_: str) -> str | None:
        """Return the key of the type that stands for one of the schema."""
        match = self.matches.get(type_)
        return match.key if match else None


def match(wanted: ExpectedTypes, sdk: Description, mapped: TypeMapping = NO_MAPPING) -> Matching:
    """Match the types of a revision with those of an SDK."""
    exchanged = [module for module in sdk.modules if sdk.is_exchanged(module)]
    modules = modules_of_revision(exchanged, wanted.ir.id)
    pool = _Pool(wanted, sdk, modules)
    found = {name: Match(name, key, How.MAPPING) for name, key in mapped.keys.items()}
    rest = [type_ for name, type_ in wanted.types.items() if name not in mapped.left_out]
    for find, how in ((pool.by_name, How.NAME), (pool.by_shape, How.SHAPE)):
        for type_ in rest:
            name = str(type_.name)
            if name in found:
                continue
            taken = {match.key for match in found.values()}
            key = find(type_, taken)
            if key is not None:
                found[name] = Match(name, key, how)
    taken = {match.key for match in found.values()}
    found = {name: replace(m, variants=pool.variants(m, taken)) for name, m in found.items()}
    return Matching(found, modules, mapped.left_out)


def modules_of_revision(modules: Collection[str], revision: str) -> frozenset[str]:
    """Return the modules that name this revision; without such, all modules.

    Modules that name another revision are left out, unless all do.
    """
    own = {module for module in modules if revision_in(module) == revision}
    if own:
        return frozenset(own)
    neutral = {module for module in modules if revision_in(module) is None}
    return frozenset(neutral or modules)


@dataclass(frozen=True, slots=True)
class _Pool:
    """The types of an SDK that can stand for something."""

    wanted: ExpectedTypes
    sdk: Description
    modules: frozenset[str]

    def by_name(self, type_: TypeIR, taken: set[str]) -> str | None:
        """Return the best type with the same name, if it can be the match."""
        names = [str(type_.name), self.wanted.wire_names.get(str(type_.name), "")]
        exact = self._best(type_, lambda candidate: any(n in candidate.names for n in names))
        if exact is not None:
            return exact
        wanted = {fold(name) for name in names if name}
        return self._best(type_, lambda c: any(fold(n) in wanted for n in c.names))

    def by_shape(self, type_: TypeIR, taken: set[str]) -> str | None:
        """Return the type with the same constant, members or values, if there is exactly one."""
        name = str(type_.name)
        free = [c for c in self._candidates(type_) if c.key not in taken]
        if name in self._error_data():
            same = [c for c in free if c.members and self._likeness(type_, c) == 1]
            return same[0].key if len(same) == 1 else None
        if name not in self.wanted.senders or name not in self.wanted.wire_names:
            return None  # it is not needed, or the schema has no name for it
        if name in self.wanted.messages:
            alike = [c for c in free if self._is_message(name, c)]
        else:
            alike = [c for c in free if c.module in self.modules and self._is_alike(type_, c)]
        scores = sorted(((self._score(type_, c), c.key) for c in alike), reverse=True)
        best = [self.sdk.types[key] for score, key in scores if score == scores[0][0]]
        meant = {type_.type or type_.key for type_ in best}  # an alias may occur twice
        return scores[0][1] if len(meant) == 1 else None

    def variants(self, match: Match, taken: set[str]) -> tuple[str, ...]:
        """Return classes called `<its name>With…` or alike that have all of its members."""
        best = self.sdk.types[match.key]
        wires = {member.wire for member in best.members}
        return tuple(
            candidate.key
            for candidate in self.sdk.types.values()
            if candidate.key not in taken
            and wires
            and candidate.module == best.module
            and not candidate.generic
            and candidate.names[0].startswith(best.names[0])
            and wires <= {member.wire for member in candidate.members}
            and candidate.constants().keys() <= best.constants().keys()
        )

    def _best(self, type_: TypeIR, fits: Callable[[SdkType], bool]) -> str | None:
        found = [c for c in self._candidates(type_) if fits(c) and not self._is_other(type_, c)]
        return max(found, key=lambda c: (self._score(type_, c), c.key)).key if found else None

    def _candidates(self, type_: TypeIR) -> Iterator[SdkType]:
        for candidate in self.sdk.types.values():
            revision = revision_in(candidate.module)
            if candidate.generic or revision not in (None, self.wanted.ir.id):
                continue
            is_object = candidate.kind == "object"
            if is_object == isinstance(type_, ObjectIR) or (is_object and self._is_one(type_)):
                yield candidate

    def _is_one(self, type_: TypeIR) -> bool:
        """Return whether it is an alias of one object, which a class may stand for as well."""
        found = tuple(leaves(Ref(str(type_.name)), self.wanted.resolve))
        return len(found) == 1 and isinstance(found[0], Ref)

    def _score(self, type_: TypeIR, candidate: SdkType) -> tuple[bool, float, bool, int]:
        """Return the rank of a candidate: right module, likeness, public, near the top."""
        depth = min((module.count(".") for module in candidate.seen_in), default=99)
        return (
            candidate.module in self.modules,
            self._likeness(type_, candidate),
            bool(candidate.seen_in),
            -depth,
        )

    def _likeness(self, type_: TypeIR, candidate: SdkType) -> float:
        ours, theirs = self._traits(type_), _traits(candidate)
        return len(ours & theirs) / len(ours | theirs) if ours | theirs else 1.0

    def _traits(self, type_: TypeIR) -> frozenset[object]:
        if isinstance(type_, ObjectIR):
            wires = {field.wire for field in type_.fields}
            return frozenset(wires - (ENVELOPE_MEMBERS if self._message(type_) else set()))
        return _values(self.wanted.resolve(str(type_.name)))

    def _message(self, type_: TypeIR) -> bool:
        return str(type_.name) in self.wanted.messages

    def _error_data(self) -> set[str]:
        """Return the types of the data of errors; no member of another type leads to them."""
        return {str(error.data) for error in self.wanted.ir.errors if error.data is not None}

    def _is_message(self, name: str, candidate: SdkType) -> bool:
        method = self.wanted.messages[name]
        return candidate.constants().get("method") == frozenset((method,))

    def _is_alike(self, type_: TypeIR, candidate: SdkType) -> bool:
        common = len(self._traits(type_) & _traits(candidate))
        return (
            common >= _FEWEST
            and self._likeness(type_, candidate) >= _ALIKE
            and not self._is_other(type_, candidate)
        )

    def _is_other(self, type_: TypeIR, candidate: SdkType) -> bool:
        """Return whether a candidate has the name of a type but is another one.

        It has other constants, none of the schema's members, or several of them with mostly other
        JSON types.
        """
        if isinstance(type_, AliasIR) or not isinstance(type_, ObjectIR):
            return False
        ours, theirs = self.wanted.constants(str(type_.name)), candidate.constants()
        common = (ours.keys() & theirs.keys()) - ENVELOPE_MEMBERS
        if any(not ours[wire] & theirs[wire] for wire in common if wire in ("type", "method")):
            # A wrong constant in an otherwise right type is a finding, not another type.
            return self._likeness(type_, candidate) < _ALIKE
        wanted, found = self._traits(type_), _traits(candidate)
        if bool(wanted) and bool(found) and not wanted & found:
            return True
        shared = list(self._common_fits(type_, candidate))
        return len(shared) >= _FEWEST and sum(shared) < _FITTING * len(shared)

    def _common_fits(self, type_: ObjectIR, candidate: SdkType) -> Iterator[bool]:
        """Yield for each common member whether its type can hold the values of the schema."""
        found = {member.wire: member.type for member in candidate.members}
        for field in type_.fields:
            if field.wire in found:
                ours = kinds(field.type, self.wanted.resolve)
                theirs = kinds(found[field.wire], self.sdk.resolve)
                yield "any" in ours | theirs or not ours.isdisjoint(theirs)


def _traits(candidate: SdkType) -> frozenset[object]:
    if candidate.type is not None:
        return _values(candidate.type)
    wires = {member.wire for member in candidate.members}
    return frozenset(wires - ENVELOPE_MEMBERS if "method" in wires else wires)


def _values(shape: TypeExpr | None) -> frozenset[object]:
    return frozenset(shape.values) if isinstance(shape, LiteralOf) else frozenset()
