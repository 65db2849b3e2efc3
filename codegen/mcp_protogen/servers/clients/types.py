"""The types and methods of a typed client, from the contract of its server."""

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import digest
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.names import ClassName, FieldName, pascal
from mcp_protogen.base.printable import summarize_list
from mcp_protogen.base.problems import Level, Problem
from mcp_protogen.base.subschemas import subschemas
from mcp_protogen.pipeline.derive import recursion
from mcp_protogen.pipeline.derive.types import expression, nullable, nullable_names
from mcp_protogen.pipeline.derive.value_paths import may_be
from mcp_protogen.pipeline.emit.annotations import CONSTRAINTS
from mcp_protogen.pipeline.ir import (
    AliasIR,
    FieldIR,
    MapOf,
    ObjectIR,
    Ref,
    TypeExpr,
    TypeIR,
    UnionIR,
)
from mcp_protogen.pipeline.ir import Json as JsonScalar
from mcp_protogen.pipeline.normalise import references
from mcp_protogen.servers.call.kinds import Kind
from mcp_protogen.servers.clients.contract import Contract, ServerItem
from mcp_protogen.servers.clients.naming import TypeNames, class_text, python_names
from mcp_protogen.servers.clients.schemas import (
    SchemaDefinitions,
    collect_definitions,
    normal,
    reachable,
    with_all_members,
)

Json = dict[str, Any]

_BASE: Final = ClassName("WireModel")
_BOUNDS: Final = tuple(CONSTRAINTS)
_WRAPPED: Final = "result"
"""The only member of an object that servers put around a result that is not an object."""
_LONGEST_TEXT: Final = 4_000
_LONGEST_DEFAULT: Final = 60


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a tool; `default` counts only if `has_default`."""

    wire: str
    name: FieldName
    type: TypeExpr
    required: bool
    nullable: bool = False
    has_default: bool = False
    default: JsonScalar = None
    doc: str = ""


@dataclass(frozen=True, slots=True)
class ClientMethod:
    """The method for a tool, a prompt or a resource template.

    `arguments` is None for a tool that takes an object with free members. `returns` is None without
    an output schema. `unwrapped` is the type of the member `result` if only that is returned.
    """

    item: ServerItem
    name: FieldName
    arguments: tuple[Argument, ...] | None
    returns: TypeExpr | None
    unwrapped: TypeExpr | None = None


@dataclass(frozen=True, slots=True)
class TypedServer:
    """The methods of a typed client, and the types that they name."""

    contract: Contract
    methods: tuple[ClientMethod, ...]
    types: tuple[TypeIR, ...]
    problems: tuple[Problem, ...] = ()


def typed_server(
    contract: Contract, chosen: Mapping[str, str], reserved: Iterable[str] = ()
) -> TypedServer:
    """Return methods and types for a contract.

    `chosen` maps tools to the method names that the user chose; types cannot have `reserved` names.
    Warnings list changed names, and parts of schemas that the models do not check.
    """
    sides = [side for items in contract.items_by_kind.values() for side in _sides(items.values())]
    module = _Module(TypeNames(reserved), _common_names(sides))
    defined = frozenset(name for side in sides for name in side.definitions.schemas)
    roots = _result_names([side for side in sides if side.is_output], defined)
    methods: list[ClientMethod] = []
    problems: list[Problem] = []
    for kind, items in contract.items_by_kind.items():
        own = chosen if kind is Kind.TOOLS else None
        names = python_names(items, kind.singular, contract.server, own)
        problems += names.problems
        for item in items.values():
            arguments_side, *results = (side for side in sides if side.item is item)
            arguments = module.add(arguments_side, class_text(item.name) or pascal(kind.singular))
            result = module.add(results[0], roots[item.name]) if results else None
            methods.append(_method(item, names[item.name], arguments, result))
    types = module.types(_type_names(methods))
    problems += [*module.problems, *module.loosening_warnings(contract.server)]
    for method in methods:
        wires = (argument.wire for argument in method.arguments or ())
        problems += python_names(wires, "argument", method.item.name).problems
    return TypedServer(contract, tuple(methods), types, tuple(dict.fromkeys(problems)))


@dataclass(frozen=True, slots=True)
class _Side:
    """One schema of a tool: as it was sent, and its definitions under their original names."""

    item: ServerItem
    is_output: bool
    raw: Json
    place: str
    definitions: SchemaDefinitions

    def content(self, name: str) -> str:
        """Return a digest of a definition with all its references."""
        return digest(self.definitions.reachable(name))


_ROOT: Final = "ToolSchema"
_LOOSENED: Final = "loosened-schema"


def _sides(items: Iterable[ServerItem]) -> Iterator[_Side]:
    for item in items:
        for is_output, raw in ((False, item.input), (True, item.output)):
            if raw is not None:
                place = f"{item.name} ({'output' if is_output else 'input'})"
                definitions = collect_definitions(raw, _ROOT, place)
                if not is_output:
                    definitions = with_all_members(definitions)
                yield _Side(item, is_output, raw, place, definitions)


def _common_names(sides: Iterable[_Side]) -> Collection[str]:
    """Return the names of definitions that are the same in all tools."""
    contents: defaultdict[str, set[str]] = defaultdict(set)
    for side in sides:
        for name in side.definitions.schemas:
            contents[name].add(side.content(name))
    return frozenset(name for name, digests in contents.items() if len(digests) == 1)


def _result_names(sides: Iterable[_Side], defined: Container[str]) -> Mapping[str, str]:
    """Return a name for the result of each tool: its title if that is a unique class name."""
    titled: defaultdict[str, list[str]] = defaultdict(list)
    names: dict[str, str] = {}
    for side in sides:
        names[side.item.name] = f"{class_text(side.item.name) or 'Tool'}Result"
        title = side.raw.get("title")
        if isinstance(title, str) and title.isidentifier() and class_text(title) == title:
            titled[title].append(side.item.name)
    unique = {
        tools[0]: title
        for title, tools in titled.items()
        if len(tools) == 1 and title not in defined
    }
    return {**names, **unique}


@dataclass(slots=True)
class _AddedSchema:
    """A schema of a tool in the module: the name of its definition, normalised and as it was sent.

    `nulls` are the names of types that accept null.
    """

    root: str
    schema: Json
    raw: Json
    nulls: Container[str]


class _Module:
    """The definitions of a module, added schema by schema."""

    def __init__(self, names: TypeNames, shared: Collection[str]) -> None:
        self._names = names
        self._shared = shared
        self._shared_names: dict[str, str] = {}
        self._docs: dict[str, _Docs] = {}
        self._loosened: dict[str, list[str]] = {}
        self.schemas: Json = {}
        self.problems: list[Problem] = []

    def add(self, side: _Side, wanted: str) -> _AddedSchema:
        """Add the definitions of a schema under free names, and return the result."""
        definitions = side.definitions
        owner = class_text(side.item.name) or "Tool"
        new_names = {definitions.root: self._names.give(wanted)}
        for name in sorted(definitions.schemas.keys() - {definitions.root}):
            if name not in self._shared:
                new_names[name] = self._names.give(f"{owner}{name}")
            elif name not in self._shared_names:
                self._shared_names[name] = self._names.give(name)
            new_names.setdefault(name, self._shared_names.get(name, ""))
        schemas = references.rename_definitions(definitions.schemas, new_names)
        root = new_names[definitions.root]
        done = normal(SchemaDefinitions(root, schemas, definitions.problems), side.place)
        # Arguments are not checked here, so the limits of models do not matter.
        for problem in done.problems if side.is_output else definitions.problems:
            if problem.code == _LOOSENED:
                self._loosened.setdefault(problem.message, []).append(side.item.name)
            else:
                self.problems.append(problem)
        docs = _Docs(schemas)
        inline = done.schemas.keys() - {*new_names.values()}
        inline_names = {name: self._names.give(name) for name in sorted(inline)}
        final = references.rename_definitions(done.schemas, inline_names)
        for name, schema in final.items():
            self.schemas.setdefault(name, schema)
            self._docs.setdefault(name, docs)
        return _AddedSchema(root, final[root], schemas[root], nullable_names(final))

    def loosening_warnings(self, place: str) -> Iterator[Problem]:
        """Yield a warning for each part that the models do not check, with its tools."""
        hint = "the models accept more than the schema does"
        for message, tools in self._loosened.items():
            text = f"{message}: {summarize_list([*dict.fromkeys(tools)], 5)}"
            yield Problem(_LOOSENED, text, place, hint=hint, level=Level.WARNING)

    def types(self, used: Iterable[str]) -> tuple[TypeIR, ...]:
        """Return the used types and all types that they refer to, sorted by name."""
        needed = sorted(reachable(self.schemas, used))
        nulls = nullable_names(self.schemas)
        return tuple(self._type(name, nulls) for name in needed)

    def _type(self, name: str, nulls: Container[str]) -> TypeIR:
        schema, docs = self.schemas[name], self._docs[name]
        origin = jsonpointer.join("$defs", name)
        if "properties" in schema:
            return ObjectIR(
                name=ClassName(name),
                fields=tuple(self._fields(schema, docs, nulls, name)),
                any_of_required=tuple(schema.get("x-any-of-required", ())),
                open=schema.get("x-open", False),
                origin=origin,
                doc=docs.type(schema),
                deprecated=False,
                base=_BASE,
            )
        if "anyOf" in schema and all("$ref" in arm for arm in schema["anyOf"]):
            arms = tuple(expression(arm) for arm in schema["anyOf"])
            tag = schema.get("discriminator", {}).get("propertyName")
            return UnionIR(ClassName(name), arms, tag, False, origin, "", False)
        return AliasIR(ClassName(name), expression(schema), origin, "", False)

    def _fields(
        self, schema: Json, docs: "_Docs", nulls: Container[str], owner: str
    ) -> Iterator[FieldIR]:
        names = python_names(schema["properties"], "member", owner)
        self.problems += names.problems
        required = frozenset(schema.get("required", ()))
        for wire, value in schema["properties"].items():
            expr = expression(value)
            yield FieldIR(
                wire=wire,
                name=names[wire],
                type=expr,
                required=wire in required,
                default=value.get("const") if wire in required else None,
                nullable=nullable(expr, nulls),
                constraints=tuple((key, value[key]) for key in _BOUNDS if key in value),
                known_values=(),
                doc=docs.member(schema, wire),
                deprecated=False,
            )


class _Docs:
    """The descriptions of objects and members in a schema.

    Normalised types have no texts, so these are found by the names of their members. Two types
    with the same members and different texts get none.
    """

    def __init__(self, schemas: Json) -> None:
        self._types: defaultdict[frozenset[str], set[str]] = defaultdict(set)
        self._members: defaultdict[tuple[frozenset[str], str], set[str]] = defaultdict(set)
        for schema in subschemas([*schemas.values()]):
            if not is_object(schema.get("properties")):
                continue
            members = frozenset(schema["properties"])
            self._types[members].add(_description(schema))
            for name, value in schema["properties"].items():
                self._members[members, name].add(_description(value))

    def type(self, schema: Json) -> str:
        """Return the text about a normalised type."""
        return _only(self._types[frozenset(schema["properties"])])

    def member(self, schema: Json, name: str) -> str:
        """Return the text about a member of such a type."""
        return _only(self._members[frozenset(schema["properties"]), name])


def _only(texts: Collection[str]) -> str:
    return next(iter(texts)) if len(texts) == 1 else ""


def _description(schema: Any) -> str:
    text = schema.get("description") if is_object(schema) else None
    return shorten(text) if isinstance(text, str) else ""


def shorten(text: str) -> str:
    """Return a text, shortened if it is too long for a docstring."""
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]} …"


def _method(
    item: ServerItem, name: FieldName, arguments: _AddedSchema, result: _AddedSchema | None
) -> ClientMethod:
    unwrapped = None
    if result is not None and _is_wrapper(result.schema):
        unwrapped = expression(result.schema["properties"][_WRAPPED])
    returns = None if result is None else _return_type(result)
    return ClientMethod(item, name, _arguments(arguments, item), returns, unwrapped)


def _return_type(result: _AddedSchema) -> TypeExpr:
    if "properties" in result.schema:
        return Ref(ClassName(result.root))
    return expression(result.schema)


def _is_wrapper(schema: Json) -> bool:
    members = [*schema.get("properties", ())]
    return members == [_WRAPPED] and _WRAPPED in schema.get("required", ())


def _arguments(added: _AddedSchema, item: ServerItem) -> tuple[Argument, ...] | None:
    schema, raw = added.schema, added.raw
    if "properties" not in schema:
        free = expression(schema)
        has_none = isinstance(free, MapOf) and raw.get("additionalProperties") in (None, False)
        return () if has_none and not raw.keys() & {"anyOf", "allOf", "oneOf"} else None
    names = python_names(schema["properties"], "argument", item.name)
    required = frozenset(schema.get("required", ()))
    members: Any = raw.get("properties", {})
    arguments: list[Argument] = []
    for wire, value in schema["properties"].items():
        about = members.get(wire) if is_object(members) else None
        expr = expression(value)
        default = _default(about, expr) if wire not in required else ()
        argument = Argument(
            wire=wire,
            name=names[wire],
            type=expr,
            required=wire in required,
            nullable=nullable(expr, added.nulls),
            has_default=bool(default),
            default=default[0] if default else None,
            doc=_description(about),
        )
        arguments.append(argument)
    return tuple(sorted(arguments, key=lambda argument: not argument.required))


def _default(raw: Any, expr: TypeExpr) -> tuple[Any, ...]:
    """Return the default of an argument in a tuple; empty unless it is a short scalar that fits."""
    if not is_object(raw) or "default" not in raw:
        return ()
    value = raw["default"]
    if is_object(value) or is_array(value) or len(repr(value)) > _LONGEST_DEFAULT:
        return ()
    if isinstance(value, float) and not may_be(expr, 0.5, {}):
        return ()  # the type of a whole number in Python is not that of 1.0
    return (value,) if may_be(expr, value, {}) else ()


def _type_names(methods: Iterable[ClientMethod]) -> Iterator[str]:
    for method in methods:
        for argument in method.arguments or ():
            yield from recursion.names_in(argument.type)
        if method.returns is not None:
            yield from recursion.names_in(method.returns)
