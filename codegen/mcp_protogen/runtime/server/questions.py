"""Typed questions: a Python type becomes a form, and the answer a value of the type.

Constraints that Pydantic can check but a form cannot show, such as a pattern, are only checked in
the answer (client/elicitation, "Requested Schema"). A type other than an object gets a form with
one member. A form is built once, and fitted to each revision by its models.
"""

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, Never, TypeGuard, TypeVar, overload

from pydantic import TypeAdapter, ValidationError, create_model

from ..core.errors import InvalidParams, LocalError
from ..core.form_fields import labels_beside, several_as_text
from ..core.forms import FORM, faults_of, fit_answer, problems_of
from ..core.json import JSONObject, json_text, read_json, without
from ..core.models.base import WireModel, validator_of
from ..core.models.validation_errors import problems
from ..core.spec import AnyRequest
from ..core.untitled_schema import UNFIT_TYPE, UntitledJsonSchema, adapter_of, unfit_type
from .answers import Accepted, Answer, Cancelled, Declined, Form

T = TypeVar("T")

_DEFS: Final = "#/$defs/"
_FORMATS: Final = ("email", "uri", "date", "date-time")
# Keywords that a revision must know: without them it would be another field.
_CHOICES: Final = frozenset({"oneOf", "enum", "items"})
_KEYWORDS: Final[Mapping[Any, tuple[str, ...]]] = {
    "array": ("minItems", "maxItems"),
    "boolean": (),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "string": ("minLength", "maxLength"),
}


class _TypedForm(Form[T]):
    def __init__(self, kind: Any) -> None:
        title = kind.__qualname__ if isinstance(kind, type) else repr(kind)
        label = title.replace("<locals>.", "")
        self._adapter, schema = _describe_type(kind, label)
        self._is_single = schema.get("type") != "object" or "properties" not in schema
        if self._is_single:
            only: Any = create_model("Form", value=kind)
            self._adapter, schema = _describe_type(only, label)
        definitions: JSONObject = schema.get("$defs", {})
        fields: JSONObject = {}
        required: list[str] = []
        self._nulls: JSONObject = {}
        for name, member in schema["properties"].items():
            at = label if self._is_single else f"{label}.{name}"
            plain, may_be_null = _without_null(member, definitions)
            fields[name] = _field(plain, definitions, at)
            if name in schema.get("required", ()):
                # Forms have no null: a member that may be null is left out instead.
                if may_be_null:
                    self._nulls[name] = None
                else:
                    required.append(name)
        self._asked: Final[JSONObject] = {FORM: _form(fields, required)}
        self._as_text: Final[JSONObject] = {FORM: _form({name: {} for name in fields}, [])}
        self._fitted: Final[dict[AnyRequest, JSONObject]] = {}

    def schema_for(self, spec: AnyRequest, revision: str) -> JSONObject:
        if spec not in self._fitted:
            form: JSONObject = self._asked[FORM]
            fields = {
                name: _fit_field(name, field, spec, revision)
                for name, field in form["properties"].items()
            }
            self._fitted[spec] = {**form, "properties": fields}
        return self._fitted[spec]

    def read(self, result: WireModel) -> Answer[T]:
        # A revision without multiple choice returns a text with commas between the choices.
        answer = fit_answer(result.to_wire(), self._asked, self._as_text)
        if answer.get("action") != "accept":
            return Declined() if answer.get("action") == "decline" else Cancelled()
        faults = faults_of(answer, self._asked, "/result")
        if not faults:
            content = {**self._nulls, **answer.get("content", {})}
            try:
                value: Any = self._adapter.validate_json(json_text(content))
                return Accepted(value.value if self._is_single else value)
            except ValidationError as error:
                faults = problems(error, content, "/result/content")
        raise InvalidParams("Invalid answers", faults)


@overload
def form(kind: type[T]) -> Form[T]: ...
@overload
def form(kind: object) -> Form[Any]: ...
def form(kind: object) -> Form[Any]:
    """Return the form for a type; it can be asked any number of times.

    Type checkers infer the type from a class, but not from `Literal["s", "l"]` and other
    expressions: write `SIZE: Form[Literal["s", "l"]] = form(Literal["s", "l"])`. Raise
    `TypeError`, with the name of the member, for a type that no form can show.
    """
    if _is_form(kind):
        return kind
    # No cache: expressions may be equal although their choices are in another order.
    return _of_class(kind) if isinstance(kind, type) else _TypedForm(kind)


def _is_form(kind: object) -> TypeGuard[Form[Any]]:
    return isinstance(kind, Form)


@lru_cache(maxsize=256)
def _of_class(kind: type[T]) -> Form[T]:
    return _TypedForm(kind)


def _describe_type(kind: Any, label: str) -> tuple[TypeAdapter[Any], JSONObject]:
    wrong = f"{label} cannot be asked for in a form"
    adapter = adapter_of(kind, wrong)
    try:
        result = adapter.json_schema(schema_generator=UntitledJsonSchema)
        # An infinity, which JSON lacks, becomes null here and is left out.
        schema: JSONObject = read_json(json_text(result))
    except UNFIT_TYPE as error:
        raise unfit_type(wrong, error) from error
    return adapter, {**schema, **_resolve_reference(schema, schema.get("$defs", {}))}


def _form(fields: JSONObject, required: list[str]) -> JSONObject:
    extra = {"required": required} if required else {}
    return {"type": "object", "properties": fields, **extra}


def _resolve_reference(schema: JSONObject, definitions: JSONObject) -> JSONObject:
    """Return a schema without a reference at its root; members and items may have some."""
    while "$ref" in schema:
        linked: JSONObject = definitions[schema["$ref"].removeprefix(_DEFS)]
        # The title of a definition is the name of a class.
        schema = {**without(linked, "title"), **without(schema, "$ref")}
    return schema


def _without_null(schema: JSONObject, definitions: JSONObject) -> tuple[JSONObject, bool]:
    """Return a member without null and references, and whether it may be null."""
    may_be_null = False
    while True:
        schema = _resolve_reference(schema, definitions)
        branches = schema.get("anyOf", [])
        others = [branch for branch in branches if branch.get("type") != "null"]
        may_be_null |= len(others) < len(branches)
        if len(others) == 1:
            schema = {**others[0], **without(schema, "anyOf")}
        elif others:
            return {**schema, "anyOf": others}, may_be_null
        else:
            return schema, may_be_null


def _field(schema: JSONObject, definitions: JSONObject, label: str) -> JSONObject:
    options = _options(schema, definitions)
    kind = schema.get("type")
    if options is not None:
        field = {"type": "string", **_choice(options, "oneOf", label)}
    elif kind == "array":
        field = {"type": "array", "items": _items(schema, definitions, label)}
    elif kind not in _KEYWORDS:
        _refuse(schema, label)
    elif schema.get("writeOnly"):
        raise _no_form(label, "is a secret", "send the user to a URL for it")
    else:
        field = {"type": kind}
    field |= {key: schema[key] for key in ("title", "description") if key in schema}
    if options is None:
        field |= {key: schema[key] for key in _KEYWORDS[kind] if key in schema}
    if kind in ("integer", "number"):
        field |= _bounds(schema)
    if schema.get("format") in _FORMATS:
        field["format"] = schema["format"]
    default = {"default": schema.get("default")}
    if not problems_of(default, _form({"default": field}, []), ""):
        field |= default
    return field


def _bounds(schema: JSONObject) -> JSONObject:
    whole = schema["type"] == "integer"
    bounds: JSONObject = {}
    if "exclusiveMinimum" in schema:
        least = schema["exclusiveMinimum"]
        bounds["minimum"] = math.floor(least) + 1 if whole else least
    if "exclusiveMaximum" in schema:
        limit = schema["exclusiveMaximum"]
        bounds["maximum"] = math.ceil(limit) - 1 if whole else limit
    return bounds


def _options(schema: JSONObject, definitions: JSONObject) -> list[JSONObject] | None:
    """Return the choices of a schema, some with titles; None if other values are valid too."""
    if "const" in schema:
        return [{"const": schema["const"]}]
    if "enum" in schema and "oneOf" not in schema:
        return [{"const": value} for value in schema["enum"]]
    options: list[JSONObject] = []
    branches: list[JSONObject] = schema.get("oneOf") or schema.get("anyOf") or []
    for branch in branches:
        choice = _resolve_reference(branch, definitions)
        if (inner := _options(choice, definitions)) is None:
            return None
        label = {"title": choice["title"]} if {"const", "title"} <= choice.keys() else {}
        options += ({**option, **label} for option in inner)
    return options or None


def _choice(options: list[JSONObject], titled: str, label: str) -> JSONObject:
    values = [option["const"] for option in options]
    if not all(isinstance(value, str) for value in values):
        raise _no_form(label, "has choices that are not strings", "make each of them a string")
    if not any("title" in option for option in options):
        return {"enum": values}
    return {titled: [{"title": option["const"], **option} for option in options]}


def _items(schema: JSONObject, definitions: JSONObject, label: str) -> JSONObject:
    items, may_be_null = _without_null(schema.get("items") or {}, definitions)
    options = None if may_be_null else _options(items, definitions)
    if options is None:
        reason = "is a list, but not of choices"
        raise _no_form(label, reason, "make it a list of an Enum or a Literal, or a text")
    choice = _choice(options, "anyOf", label)
    return {"type": "string", **choice} if "enum" in choice else choice


def _refuse(schema: JSONObject, label: str) -> Never:
    if schema.get("type") == "object":
        raise _no_form(label, "is an object", "a form is flat: ask for its members one by one")
    if "anyOf" in schema or "oneOf" in schema:
        raise _no_form(label, "has several types", "choose one of them")
    if schema.get("type") == "null":
        raise _no_form(label, "is always null", "leave it out")
    raise _no_form(label, "may be anything", "give it a type")


def _no_form(label: str, reason: str, cure: str) -> TypeError:
    return TypeError(f"{label} cannot be asked for in a form: it {reason}; {cure}")


def _fit_field(name: str, field: JSONObject, spec: AnyRequest, revision: str) -> JSONObject:
    for candidate in _variants(field):
        wire = {"message": "", FORM: _form({name: candidate}, [])}
        try:
            model = validator_of(spec.params)(wire)
        except ValidationError:
            continue
        # The models keep members unknown to them: those the revision lacks.
        extra: JSONObject = model.requested_schema.properties[name].model_extra
        if not extra.keys() & _CHOICES:
            return without(candidate, *extra)
    raise LocalError(f"{spec.method}: {revision} has no form field for the member {name}")


def _variants(field: JSONObject) -> Iterator[JSONObject]:
    yield field
    if "oneOf" in field:
        yield labels_beside(field)
    if field["type"] == "array":
        yield several_as_text(field)
