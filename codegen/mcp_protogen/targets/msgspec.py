"""Types as `msgspec.Struct`s, with functions that read whole messages: the fastest decoder.

msgspec drops undeclared members. So `_meta`, and types with only undeclared members, are
dictionaries.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mcp_protogen.base.option_constraints import conflict
from mcp_protogen.pipeline.emit.annotations import CONSTRAINTS
from mcp_protogen.pipeline.emit.text import docstring, literal, tuple_of
from mcp_protogen.pipeline.ir import (
    AliasIR,
    FieldIR,
    MethodIR,
    ObjectIR,
    OneOf,
    Ref,
    RevisionIR,
    Scalar,
    TypeExpr,
    TypeIR,
    UnionIR,
)
from mcp_protogen.pipeline.target import TargetFile, TargetOptions
from mcp_protogen.targets.msgspec_unions import Tag, Unions, arms_of, is_free, unions_of
from mcp_protogen.targets.python.annotations import either
from mcp_protogen.targets.python.docstrings import class_text, member_docstring, type_docstring
from mcp_protogen.targets.python.modules import (
    Definitions,
    PythonTarget,
    render,
    with_base_class,
)
from mcp_protogen.targets.python.order import order_types
from mcp_protogen.targets.results import result_type

_IMPORTS = {
    "collections.abc": frozenset({"Callable", "Collection", "Mapping"}),
    "contextlib": frozenset({"suppress"}),
    "functools": frozenset({"cache"}),
    "msgspec": frozenset(
        {
            "Meta",
            "MsgspecError",
            "Raw",
            "Struct",
            "UNSET",
            "UnsetType",
            "ValidationError",
            "convert",
            "field",
        }
    ),
    "msgspec.json": frozenset({"Decoder"}),
    "typing": frozenset({"Annotated", "Any", "ClassVar", "Generic", "Literal", "TypeAlias"})
    | {"TYPE_CHECKING", "TypeVar", "cast", "get_origin", "overload"},
}
_OWN_NAMES = (
    *("ErrorMessage", "ErrorObject", "InvalidMessage", "Message", "NotificationMessage"),
    *("NotificationMessageParams", "RequestMessage", "RequestMessageParams", "ResultMessage"),
    *("WireStruct", "dec_hook", "decode", "decode_answer", "decode_result"),
)
_OBJECT = "dict[str, Any]"
# Names that msgspec itself turns into the usual wire names.
_PLAIN = re.compile(r"[a-z]+(_[a-z]+)*")


class _MsgspecTarget(PythonTarget):
    def files(
        self, revisions: Sequence[RevisionIR], options: TargetOptions
    ) -> Iterator[TargetFile]:
        """Yield the modules of all revisions; raise `ProblemError`: `conflicting-options`."""
        if options.extra == "allow":
            raise conflict("msgspec cannot keep undeclared members: use --extra ignore or forbid")
        return super().files(revisions, options)


def _definitions(ir: RevisionIR, options: TargetOptions) -> Definitions:
    unions = unions_of(ir)
    choices = unions.choices()
    context = {
        "base": (options.base_class or "msgspec:Struct").partition(":")[2],
        "forbid": options.extra == "forbid",
        "choices": [_choice(name, arms, unions) for name, arms in choices.items()],
        "types": [
            _class(type_, unions, options) if isinstance(type_, ObjectIR) else _alias(type_, unions)
            for type_ in order_types(ir)
            if type_.name not in choices
        ],
        **_methods(ir, unions),
    }
    names = dict.fromkeys((*map(str, unions.types), *choices))
    imports = with_base_class(_IMPORTS, options)
    return Definitions(imports, render("msgspec.jinja", context), (*names, *_OWN_NAMES))


TARGET = _MsgspecTarget(_definitions, frozenset({"base_class", "extra"}))


def _choice(name: str, arms: list[TypeExpr], unions: Unions) -> Mapping[str, str]:
    """Return the template's values for a union that msgspec cannot read."""
    type_ = unions.types.get(name)
    hints = list(map(unions.hint, arms))
    doc = docstring(type_.doc, 4, of_member=True) if type_ and type_.doc else ""
    return {"name": name, "hint": either(hints), "arms": tuple_of(hints), "doc": doc}


def _alias(type_: UnionIR | AliasIR, unions: Unions) -> str:
    return _alias_text(type_, unions.hint(OneOf(arms_of(type_))), type_docstring(type_))


def _alias_text(type_: TypeIR, hint: str, doc: str) -> str:
    return "\n".join(filter(None, (f"{type_.name}: TypeAlias = {hint}", doc)))


def _class(type_: ObjectIR, unions: Unions, options: TargetOptions) -> str:
    """Return the class of an object, or an alias for a dictionary."""
    if is_free(type_):
        doc = docstring(type_.doc, 0, of_member=True) if type_.doc else ""
        return _alias_text(type_, _OBJECT, doc)
    tag = unions.tags.get(str(type_.name))
    arguments = ["WireStruct", "kw_only=True"]
    if tag:
        arguments.append(f"tag_field={literal(tag.member)}, tag={literal(tag.value)}")
    if options.extra == "forbid" and type_.open:
        arguments.append("forbid_unknown_fields=False")
    lines: list[str] = []
    for field in type_.fields:
        is_tag = tag and field.wire == tag.member
        lines += _constant(field, tag) if tag and is_tag else _member(field, unions)
    if type_.any_of_required:
        lines += ["", *_any_of(type_)]
    head = f"class {type_.name}({', '.join(arguments)}):"
    return class_text(head, type_docstring(type_), lines)


def _constant(field: FieldIR, tag: Tag) -> list[str]:
    """Return the attribute of a tag; msgspec reads and writes the tag itself."""
    constant = literal(tag.value)
    return [f"{field.name}: ClassVar[Literal[{constant}]] = {constant}", *member_docstring(field)]


def _member(field: FieldIR, unions: Unions) -> list[str]:
    annotation, arguments = _annotation(field, unions), list[str]()
    if _camel(str(field.name)) != field.wire:
        arguments.append(f"name={literal(field.wire)}")
    if not field.required:
        annotation = f"{annotation} | UnsetType"
        arguments.append("default=UNSET")
    match arguments:
        case []:
            value = ""
        case ["default=UNSET"]:
            value = " = UNSET"
        case _:
            value = f" = field({', '.join(arguments)})"
    return [f"{field.name}: {annotation}{value}", *member_docstring(field)]


def _annotation(field: FieldIR, unions: Unions) -> str:
    if field.wire == "_meta" and _is_class(field.type, unions):
        return _OBJECT
    annotation = unions.hint(field.type)
    if field.constraints:
        limits = ", ".join(
            f"{CONSTRAINTS[key]}={literal(value)}" for key, value in field.constraints
        )
        kinds = ("int", "float") if field.type == Scalar("number") else (annotation,)
        annotation = " | ".join(f"Annotated[{kind}, Meta({limits})]" for kind in kinds)
    return either([annotation, "None"]) if field.nullable and annotation != "Any" else annotation


def _is_class(expr: TypeExpr, unions: Unions) -> bool:
    return isinstance(expr, Ref) and isinstance(unions.types.get(expr.name), ObjectIR)


def _camel(name: str) -> str:
    """Return the wire name that msgspec makes of an attribute; empty for unusual names."""
    if not _PLAIN.fullmatch(name):
        return ""
    first, *words = name.split("_")
    return first + "".join(map(str.capitalize, words))


def _any_of(type_: ObjectIR) -> list[str]:
    """Return a check for a type that requires at least one of some members."""
    fields = [field for field in type_.fields if field.wire in type_.any_of_required]
    absent = " and ".join(f"self.{field.name} is UNSET" for field in fields)
    message = f"needs one of {', '.join(type_.any_of_required)}"
    return [
        "def __post_init__(self) -> None:",
        f"    if {absent}:",
        f"        raise ValueError({literal(message)})",
    ]


def _methods(ir: RevisionIR, unions: Unions) -> Mapping[str, Any]:
    """Return the tables that `decode`, `decode_answer` and `decode_result` read."""
    requests = [method for method in ir.methods if method.kind == "request"]
    notifications = [method for method in ir.methods if method.kind == "notification"]
    results = [(request, _results(request, unions)) for request in requests if request.results]
    by_type: dict[str, list[str]] = {}
    for request in requests:
        if result := result_type(request):
            by_type.setdefault(str(result), []).append(request.method)
    return {
        "tables": (
            ("_REQUESTS", [(request.method, request.params) for request in requests]),
            (
                "_NOTIFICATIONS",
                [(notification.method, notification.params) for notification in notifications],
            ),
            ("_RESULTS", [(request.method, types[0]) for request, types in results]),
        ),
        "unusual_results": [(request.method, types[1:]) for request, types in results if types[1:]],
        "request_params": _params(requests),
        "notification_params": _params(notifications),
        "needing_params": [
            method.method for method in (*requests, *notifications) if method.params_required
        ],
        "results_by_type": list(by_type.items()),
    }


def _results(method: MethodIR, unions: Unions) -> Sequence[str]:
    """Return the types to try, in order, for a result: the usual one first if that is safe.

    That is safe if it requires a member that the other types lack.
    """
    usual, *others = (unions.types[str(name)] for name in method.results)
    required = {field.wire for field in _fields(usual) if field.required}
    if all(required - {field.wire for field in _fields(alternative)} for alternative in others):
        return [str(name) for name in method.results]
    return [str(result_type(method))]


def _fields(type_: TypeIR) -> Sequence[FieldIR]:
    return type_.fields if isinstance(type_, ObjectIR) else ()


def _params(methods: Sequence[MethodIR]) -> str:
    return either(sorted({str(method.params) for method in methods})) or "Any"
