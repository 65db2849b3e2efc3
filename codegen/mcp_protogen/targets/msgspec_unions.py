"""Unions that msgspec can read, and choices for the others.

msgspec distinguishes the arms of a union by their kind of JSON, and objects by a tag: a member with
another constant in each of them. Any other union becomes a choice: a separate class at run time,
which `dec_hook` of the generated module reads.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mcp_protogen.base.jsonvalue import json_type
from mcp_protogen.pipeline.ir import (
    NOTHING,
    AliasIR,
    Anything,
    ListOf,
    LiteralOf,
    MapOf,
    ObjectIR,
    OneOf,
    Ref,
    RevisionIR,
    Scalar,
    TypeExpr,
    TypeIR,
    UnionIR,
)
from mcp_protogen.targets.python.annotations import either
from mcp_protogen.targets.python.annotations import hint as plain_hint
from mcp_protogen.targets.python.order import endless

_NULL = Scalar("null")


def is_free(type_: ObjectIR) -> bool:
    """Return whether an object has only undeclared members, which a Struct would drop."""
    return type_.open and all(field.wire == "_meta" for field in type_.fields)


@dataclass(frozen=True, slots=True)
class Tag:
    """The member that identifies a class, and its constant."""

    member: str
    value: str


@dataclass(frozen=True, slots=True)
class Unions:
    """The types of a revision, and the tags for its unions."""

    types: Mapping[str, TypeIR]
    tags: Mapping[str, Tag]
    endless: frozenset[str]

    def hint(self, expr: TypeExpr) -> str:
        """Return an annotation of an expression that msgspec can read."""
        match expr:
            case OneOf(arms):
                return self._union_hint(arms)
            case ListOf(item) if item != NOTHING:
                return f"list[{self.hint(item)}]"
            case MapOf(value) if value != NOTHING:
                return f"dict[str, {self.hint(value)}]"
            case _:
                return plain_hint(expr, "Meta(max_length=0)")

    def _union_hint(self, arms: tuple[TypeExpr, ...]) -> str:
        members = [arm for arm in self.alternatives(arms) if arm != _NULL]
        if Anything() in members:
            return "Any"
        null = ["None"] if _NULL in self.alternatives(arms) else []
        if self.is_readable(members):
            return either([*map(self.hint, arms), *null])
        return either([choice_name(members), *null])

    def alternatives(self, arms: tuple[TypeExpr, ...]) -> list[TypeExpr]:
        """Return the arms of a union, with inner unions replaced by their arms."""
        result: dict[TypeExpr, None] = {}
        names: set[str] = set()
        stack = [*reversed(arms)]
        while stack:
            arm = stack.pop()
            type_ = self.types.get(arm.name) if isinstance(arm, Ref) else None
            match arm, type_:
                case OneOf(inner), _:
                    stack += reversed(inner)
                case Ref(name), UnionIR() | AliasIR() if name not in self.endless:
                    stack += [] if name in names else reversed(arms_of(type_))
                    names.add(name)
                case _:
                    result[arm] = None
        return list(result)

    def is_readable(self, arms: list[TypeExpr]) -> bool:
        """Return whether msgspec can distinguish the arms, which do not include null."""
        kinds = [kind for arm in arms for kind in self._kinds(arm)]
        if not kinds.count("object") > 1:
            return len(set(kinds)) == len(kinds) and ("choice" not in kinds or len(kinds) == 1)
        objects = [arm for arm in arms if "object" in self._kinds(arm)]
        tags = [self.tags.get(arm.name) if isinstance(arm, Ref) else None for arm in objects]
        members = {tag.member if tag else None for tag in tags}
        distinct = None not in members and len(members) == 1 and len(set(tags)) == len(tags)
        return distinct and self.is_readable([*objects[:1], *(a for a in arms if a not in objects)])

    def _kinds(self, arm: TypeExpr) -> list[str]:
        match arm:
            case Ref(name):
                return ["choice" if name in self.endless else "object"]
            case Scalar("number"):
                return ["integer", "number"]
            case Scalar(kind):
                return [kind]
            case LiteralOf(values):
                return sorted({json_type(value) for value in values})
            case ListOf():
                return ["array"]
            case _:
                return ["object"]

    def choices(self) -> Mapping[str, list[TypeExpr]]:
        """Return the arms of each union that msgspec cannot read, by name."""
        result: dict[str, list[TypeExpr]] = {}
        for name, type_ in self.types.items():
            if not isinstance(type_, ObjectIR) and self._is_choice(type_):
                result[name] = self.alternatives(arms_of(type_))
            for expr in _expressions(type_):
                for arms in self._unreadable(expr):
                    result[choice_name(arms)] = arms
        return result

    def _is_choice(self, type_: UnionIR | AliasIR) -> bool:
        """Return whether an alias stands for a union that msgspec cannot read."""
        arms = [arm for arm in self.alternatives(arms_of(type_)) if arm != _NULL]
        return type_.name in self.endless or not (Anything() in arms or self.is_readable(arms))

    def _unreadable(self, expr: TypeExpr) -> Iterator[list[TypeExpr]]:
        """Yield the arms of unnamed unions in an expression that msgspec cannot read."""
        match expr:
            case ListOf(inner) | MapOf(inner):
                yield from self._unreadable(inner)
            case OneOf(arms):
                others = [arm for arm in self.alternatives(arms) if arm != _NULL]
                if self.is_readable(others) or Anything() in others:
                    for arm in arms:
                        yield from self._unreadable(arm)
                else:
                    yield others
                    for arm in others:
                        yield from self._unreadable(arm)
            case _:
                pass


def unions_of(ir: RevisionIR) -> Unions:
    """Return the types of a revision with the tags for its unions."""
    types = {str(type_.name): type_ for type_ in ir.types}
    tags: dict[str, Tag] = {}
    for union in ir.types:
        if isinstance(union, UnionIR) and union.tag is not None:
            found = {
                arm.name: tag
                for arm in union.arms
                if isinstance(arm, Ref) and (tag := _tag(types.get(arm.name), union.tag))
            }
            if len(found) == len(union.arms):
                tags = found | tags  # a class has one tag, that of the first union
    return Unions(types, tags, endless(ir))


def _tag(class_: TypeIR | None, member: str) -> Tag | None:
    """Return the tag of an arm if it is a class that requires a constant string there."""
    if not isinstance(class_, ObjectIR):
        return None
    for field in class_.fields:
        match field.type:
            case LiteralOf((str(value),)) if field.wire == member and field.required:
                return Tag(member, value)
            case _:
                pass
    return None


def arms_of(type_: UnionIR | AliasIR) -> tuple[TypeExpr, ...]:
    """Return the arms of an alias; one without a union has a single arm."""
    return type_.arms if isinstance(type_, UnionIR) else (type_.type,)


def choice_name(arms: list[TypeExpr]) -> str:
    """Return a name for an unnamed union, from its arms."""
    return "Or".join(map(_arm_name, arms))


def _arm_name(arm: TypeExpr) -> str:
    match arm:
        case Ref(name):
            return name
        case Scalar(kind):
            return kind.capitalize()
        case ListOf(item):
            return f"ListOf{_arm_name(item)}"
        case MapOf(value):
            return f"MapOf{_arm_name(value)}"
        case OneOf(arms):
            return choice_name(list(arms))
        case LiteralOf():
            return "Constant"
        case Anything():
            return "Anything"


def _expressions(type_: TypeIR) -> Iterator[TypeExpr]:
    """Yield the expressions in a type; for an alias of a union, its arms."""
    if isinstance(type_, ObjectIR):
        yield from (field.type for field in type_.fields)
    else:
        for arm in arms_of(type_):
            yield from arm.arms if isinstance(arm, OneOf) else (arm,)
