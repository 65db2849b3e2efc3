"""Renaming of a revision's types by a file of names in a project."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from mcp_protogen.base import jsonpointer, names
from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.names import ClassName, FieldName, ModuleName, UnsafeName
from mcp_protogen.base.problems import Problem, ProblemError, did_you_mean, raise_errors, raising
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.inputs.pins import load_pins
from mcp_protogen.pipeline.ir import (
    Anything,
    ListOf,
    MapOf,
    MethodIR,
    ObjectIR,
    OneOf,
    Ref,
    RevisionIR,
    TypeExpr,
    TypeIR,
    UnionIR,
)

KINDS: Final = ("modules", "types", "members", "open")
"""The members of a file: the first has names by revision, the others also by our names."""


class OwnNames(NamedTuple):
    """The user's names for one revision, by our names; `place` is their file.

    `module` is empty to keep ours. `members` are keyed by type and member on the wire:
    "Tool.inputSchema". `open` are the types that keep undeclared members, by their new names; None
    for those that the specification leaves open.
    """

    place: str
    revision: str
    module: str = ""
    types: Mapping[str, str] = {}
    members: Mapping[str, str] = {}
    open: tuple[str, ...] | None = None

    def pointer(self, kind: str, *more: str | int) -> str:
        """Return the place of an entry in the file."""
        return jsonpointer.join(kind, self.revision, *more)


def with_own_names(
    ir: RevisionIR, options: GenerationOptions, *, file_names: bool = False
) -> RevisionIR:
    """Return a revision with the user's names, if any; raise as `rename_revision` does.

    With `file_names`, modules need not be identifiers. Also raise `ProblemError`
    (`conflicting-options`) for a module that must keep its name.
    """
    names = names_for(ir.id, options)
    if names and names.module and options.target is None:
        message = "modules can be renamed only with --target"
        pointer = names.pointer("modules")
        raise ProblemError(Problem("conflicting-options", message, names.place, pointer))
    return rename_revision(ir, names, file_names=file_names) if names else ir


def rename_revision(ir: RevisionIR, names: OwnNames, *, file_names: bool = False) -> RevisionIR:
    """Return a revision with other names; with `file_names`, its module need not be an identifier.

    Types with one new name become one type if they have the same members. Raise `ProblemError`,
    with pointers into the file: `bad-names`, `unsafe-name`, `name-collision`.
    """
    raise_errors((*_unknown_names(ir, names), *_unsafe(ir, names, file_names=file_names)))
    work = _Renaming(names)
    types = [work.type(type_) for type_ in ir.types]
    _refuse_collisions(ir, types, names)
    merged = {str(type_.name): type_ for type_ in reversed(types)}
    if names.open is not None:
        _refuse_unopenable(merged, names)
        merged = {name: _set_open(type_, name in names.open) for name, type_ in merged.items()}
    return replace(
        ir,
        module=ModuleName(names.module) if names.module else ir.module,
        types=tuple(merged[name] for name in sorted(merged)),
        methods=tuple(work.method(method) for method in ir.methods),
        errors=tuple(
            replace(error, data=work.name(error.data)) if error.data else error
            for error in ir.errors
        ),
        meta_keys=tuple(
            replace(
                key,
                on=tuple(map(work.name, key.on)),
                type=work.name(key.item_type) + key.type.removeprefix(key.item_type),
                of=tuple(map(work.name, key.of)),
            )
            for key in ir.meta_keys
        ),
        places=replace(
            ir.places, item=work.name(ir.places.item), result=work.name(ir.places.result)
        ),
    )


class _Renaming:
    """The renaming of one revision, as functions on types, members and methods."""

    def __init__(self, own: OwnNames) -> None:
        self._own = own

    def name(self, name: str) -> ClassName:
        return ClassName(self._own.types.get(name, name))

    def member(self, owner: str, wire: str, name: FieldName) -> FieldName:
        return FieldName(self._own.members.get(f"{owner}.{wire}", name))

    def expression(self, expr: TypeExpr) -> TypeExpr:
        match expr:
            case Ref(name):
                return Ref(self.name(name))
            case ListOf(item):
                return ListOf(self.expression(item))
            case MapOf(value, bare):
                return MapOf(self.expression(value), bare)
            case Anything(name=name):
                return Anything(name=self.name(name))
            case OneOf(arms):
                return OneOf(tuple(map(self.expression, arms)))
            case _:
                return expr

    def type(self, type_: TypeIR) -> TypeIR:
        name = self.name(type_.name)
        if isinstance(type_, UnionIR):
            return replace(type_, name=name, arms=tuple(map(self.expression, type_.arms)))
        if not isinstance(type_, ObjectIR):
            return replace(type_, name=name, type=self.expression(type_.type))
        fields = tuple(
            replace(
                field,
                name=self.member(type_.name, field.wire, field.name),
                type=self.expression(field.type),
            )
            for field in type_.fields
        )
        base = self.name(type_.base) if type_.base else None
        return replace(type_, name=name, fields=fields, base=base)

    def method(self, method: MethodIR) -> MethodIR:
        return replace(
            method,
            message=self.name(method.message),
            params=self.name(method.params),
            results=tuple(dict.fromkeys(map(self.name, method.results))),
            items=self.expression(method.items) if method.items else None,
        )


def _fields(ir: RevisionIR, name: str) -> Mapping[str, str]:
    """Return the wire names of a type's members, by their names in Python."""
    owner = next((type_ for type_ in ir.types if type_.name == name), None)
    return {field.name: field.wire for field in owner.fields} if isinstance(owner, ObjectIR) else {}


def _unknown_names(ir: RevisionIR, own: OwnNames) -> Iterator[Problem]:
    types = {str(type_.name) for type_ in ir.types}
    members = {
        f"{type_.name}.{wire}" for type_ in ir.types for wire in _fields(ir, type_.name).values()
    }
    for kind, mapping, places in (("types", own.types, types), ("members", own.members, members)):
        for name in mapping:
            if name not in places:
                message = f"{ir.id} has no {kind[:-1]} {name!r:.80}"
                hint = did_you_mean(name, places, "use the names of a run without --names")
                yield Problem("bad-names", message, own.place, own.pointer(kind, name), hint)
    tags = {f"{arm.name}.{tag}" for arm, tag in _tagged_arms(ir)}
    for name in own.members:
        if name in tags:
            message = f"{name} cannot be renamed: it distinguishes the arms of a union"
            yield Problem("bad-names", message, own.place, own.pointer("members", name))


def _tagged_arms(ir: RevisionIR) -> Iterator[tuple[Ref, str]]:
    for union in ir.types:
        if isinstance(union, UnionIR) and union.tag is not None:
            yield from ((arm, union.tag) for arm in union.arms if isinstance(arm, Ref))


def _unsafe(ir: RevisionIR, own: OwnNames, *, file_names: bool) -> Iterator[Problem]:
    module = names.file_stem if file_names else names.own_module
    checks = (
        *((names.class_name, new, ("types", old)) for old, new in own.types.items()),
        *((names.attribute_name, new, ("members", old)) for old, new in own.members.items()),
        *([(module, own.module, ("modules",))] if own.module else []),
    )
    for check, name, place in checks:
        try:
            check(name)
        except UnsafeName as error:
            message = f"{name!r:.80} cannot be used in {ir.id}: {_reason(error, name)}"
            kind, *more = place
            hint = "use an identifier that neither Python nor generated code uses"
            yield Problem("unsafe-name", message, own.place, own.pointer(kind, *more), hint)


def _reason(error: UnsafeName, name: str) -> str:
    text = str(error)
    return "it is not an identifier, or it is reserved" if text == name else f"it {text}"


@raising
def _refuse_collisions(ir: RevisionIR, types: Sequence[TypeIR], own: OwnNames) -> Iterator[Problem]:
    first: dict[str, tuple[TypeIR, str]] = {}
    for before, type_ in zip(ir.types, types, strict=True):
        earlier, was = first.setdefault(str(type_.name), (type_, str(before.name)))
        if _content(earlier) != _content(type_):
            message = f"{was} and {before.name} would both be called {type_.name}"
            old = str(before.name) if before.name in own.types else was
            hint = "only types with the same members can be merged"
            yield Problem("name-collision", message, own.place, own.pointer("types", old), hint)
        if isinstance(type_, ObjectIR):
            for name in names.duplicates(field.name for field in type_.fields):
                message = f"two members of {before.name} would both be called {name}"
                pointer = own.pointer("members")
                yield Problem("name-collision", message, own.place, pointer)


def _content(type_: TypeIR) -> object:
    """Return the parts of a type that must be equal to merge it with another: all but its texts."""
    if not isinstance(type_, ObjectIR):
        return replace(type_, origin="", doc="", deprecated=False)
    fields = tuple(replace(field, doc="", known_values=()) for field in type_.fields)
    return {field.wire: field for field in fields}, type_.any_of_required


@raising
def _refuse_unopenable(types: Mapping[str, TypeIR], own: OwnNames) -> Iterator[Problem]:
    objects = {name for name, type_ in types.items() if isinstance(type_, ObjectIR)}
    for place, name in enumerate(own.open or ()):
        if name not in objects:
            message = f"{own.revision} has no object type {name!r:.80} to open"
            pointer = own.pointer("open", place)
            yield Problem("bad-names", message, own.place, pointer, did_you_mean(name, objects))


def _set_open(type_: TypeIR, is_open: bool) -> TypeIR:
    return replace(type_, open=is_open) if isinstance(type_, ObjectIR) else type_


def names_for(revision: str, options: GenerationOptions) -> OwnNames | None:
    """Return the user's names for a revision; None without a file, or without names in it.

    The file may have names for all pinned revisions. Raise `ProblemError` (`bad-names`, `not-json`)
    with all problems in it.
    """
    file, revisions = options.names, {*options.revisions, *load_pins()}
    if file is None:
        return None
    document = parse_json(file.content, file.name)
    raise_errors(problem._replace(place=file.name) for problem in _wrong(document, revisions))
    names = {kind: document.get(kind, {}).get(revision) for kind in KINDS}
    if all(value is None for value in names.values()):
        return None
    return OwnNames(
        place=file.name,
        revision=revision,
        module=names["modules"] or "",
        types=names["types"] or {},
        members=names["members"] or {},
        open=None if names["open"] is None else tuple(names["open"]),
    )


def _wrong(document: Any, revisions: set[str]) -> Iterator[Problem]:
    if not is_object(document):
        yield _problem("names must be an object", "", f"with the members {', '.join(KINDS)}")
        return
    for kind, entries in document.items():
        pointer = jsonpointer.join(kind)
        if kind not in KINDS:
            hint = did_you_mean(kind, KINDS)
            yield _problem(f"a file of names has no member {kind!r:.80}", pointer, hint)
        elif not is_object(entries):
            yield _problem("this must be an object, by revision", pointer)
        else:
            for revision, value in entries.items():
                pointer = jsonpointer.join(kind, revision)
                if revision not in revisions:
                    hint = did_you_mean(revision, revisions)
                    message = f"revision {revision!r:.80} is not generated"
                    yield _problem(message, pointer, hint)
                else:
                    yield from _wrong_value(kind, value, pointer)


def _wrong_value(kind: str, value: Any, pointer: str) -> Iterator[Problem]:
    if kind == "modules":
        if not isinstance(value, str):
            yield _problem("the name of a module must be a string", pointer)
    elif kind == "open":
        if not is_array(value) or not all(isinstance(item, str) for item in value):
            yield _problem("open types must be an array of names", pointer)
    elif not is_object(value):
        yield _problem("this must be an object, from our names to yours", pointer)
    else:
        for name, text in value.items():
            if not isinstance(text, str):
                yield _problem("a name must be a string", pointer + jsonpointer.join(name))


def _problem(message: str, pointer: str, hint: str = "") -> Problem:
    return Problem("bad-names", message, pointer=pointer, hint=hint)
