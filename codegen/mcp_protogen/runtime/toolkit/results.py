"""Conversion of a tool's return value into a result.

Any value except content is structured: its output schema is made from the return annotation, and
the value is checked against it. The same JSON goes into a text block, for clients without
structured content (2025-11-25, server/tools, "Structured Content" and "Output Schema").
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from operator import itemgetter
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, Union, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from ..connection import ResultText
from ..core.errors import Problem
from ..core.json import JSONObject, is_object, json_text, read_json, without
from ..core.models.base import has_failed
from ..core.sendable import (
    Unsendable,
    check_finite,
    may_have_nan,
    sendable_text,
    without_surrogates,
)
from ..core.untitled_schema import adapter_of
from ..core.value_paths import find
from ..messages.writing import classes_in
from .decorators import ToolOptions
from .functions import EMPTY, Signature, schema_of, union_types
from .revision_models import Media, Models, RevisionModels, as_list, kinds_of, text_block

if TYPE_CHECKING:
    from ..core.schema_validation import Check

RESULT: Final = "result"
"""The member for a value other than a JSON object, where an object is required."""

_PLAIN: Final = (bool, int, str)

# These stand for values in the template of a result.
_SHOWN: Final = "\ue000"
_VALUE: Final = "\ue001"


def output_of(signature: Signature, options: ToolOptions, models: RevisionModels) -> "Output":
    given, label = options.get("output_schema"), signature.label
    if given is not None:
        from ..core.schema_validation import checker

        schema, of_objects = dict(given), not models.has_any_structured
        check = checker(schema, f"{label}: the output schema", of_objects=of_objects)

        def write(value: Any) -> bytes:
            text = _write_json(value, label)
            _refuse(check(read_json(text)))
            return text

        return StructuredOutput(models, schema, write, check)
    annotation = _without_results(signature.returns, models)
    structured, is_open = options.get("structured", True), _is_open(annotation)
    content = models.blocks.union(models.call_results)
    if structured and not is_open and not _has_content(annotation, content):
        return _build_typed_output(models, annotation, label)
    structured, has_content = structured and is_open, _has_content(annotation, models.blocks)
    return UnstructuredOutput(models, label, structured=structured, lists_content=has_content)


def _without_results(annotation: Any, models: RevisionModels) -> Any:
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    left = [arg for arg in get_args(annotation) if arg not in models.call_results]
    return Union[tuple(left)] if left else models.call_results[0]  # noqa: UP007


def _has_content(annotation: Any, models: Models) -> bool:
    return any(cls in models or issubclass(cls, Media) for cls in classes_in(annotation))


_LISTS: Final = frozenset({list, tuple, Collection, Iterable, Sequence})


def _is_open(annotation: Any) -> bool:
    """Return whether values may contain content, which no schema describes."""
    if annotation is EMPTY:
        return True
    return any(arm in (Any, object) or _lists_anything(arm) for arm in union_types(annotation))


def _lists_anything(annotation: Any) -> bool:
    if (get_origin(annotation) or annotation) not in _LISTS:
        return False
    items = [arg for arg in get_args(annotation) if arg is not Ellipsis]
    may_be_blocks = all(item is str or _is_open(item) for item in items)
    return not items or (may_be_blocks and any(map(_is_open, items)))


class UnstructuredOutput:
    """Content, or any value; with `lists_content`, a list of texts is content too."""

    schema: JSONObject | None = None

    def __init__(
        self, models: RevisionModels, label: str, *, structured: bool, lists_content: bool
    ) -> None:
        self._models = models
        self._label = label
        self._results = models.call_results
        self._content: tuple[type, ...] = (Media, *models.blocks)
        self._structured = structured and models.has_structured
        self._lists_content = lists_content

    def result(self, value: Any) -> Any:
        models = self._models
        if isinstance(value, str):
            return models.text_result(value)
        if isinstance(value, self._results):
            return value
        content = self._blocks(value)
        if content is not None:
            return models.tool_result(content)
        text = _write_json(value, self._label)
        wire = read_json(text) if self._structured else None
        if self._structured and (models.has_any_structured or is_object(wire)):
            return models.text_result(text.decode(), wire)
        return models.text_result(text.decode())

    def _blocks(self, value: Any) -> list[Any] | None:
        if value is None:
            return []
        items = as_list(value)
        found = any(isinstance(item, self._content) for item in items)
        texts = all(isinstance(item, str) for item in items)
        if not found and not (texts and (self._lists_content or not items)):
            return None
        return [self._block(item) for item in items]

    def _block(self, value: Any) -> Any:
        if isinstance(value, Media):
            return value.block(kinds_of(self._models.blocks))
        if isinstance(value, self._content):
            return value
        return text_block(
            value if isinstance(value, str) else _write_json(value, self._label).decode()
        )


def _write_json(value: Any, label: str) -> bytes:
    try:
        return sendable_text(value, label)
    except (PydanticSerializationError, Unsendable) as error:
        raise _unfit(error, value) from None


def _unfit(error: Exception, value: Any, validate: Callable[[Any], object] = id) -> Exception:
    from .failures import unfit

    return unfit(error, value, validate)


def _refuse(faults: list[Problem]) -> None:
    if faults:
        from .failures import UnfitResult

        raise UnfitResult(faults)


class StructuredOutput:
    """Structured results. `write` returns JSON text or raises `UnfitResult`; `check` is for JSON.

    With `plain`, all values are of a class in `_PLAIN`.
    """

    def __init__(
        self,
        models: RevisionModels,
        schema: JSONObject,
        write: Callable[[Any], bytes],
        check: "Check",
        *,
        plain: bool = False,
    ) -> None:
        self._models = models
        self._plain = plain
        self._results = models.call_results
        self._write, self._check = write, check
        wraps = not models.has_any_structured and schema.get("type") != "object"
        self._wraps = wraps and models.has_structured
        self.schema: JSONObject | None = None
        if models.has_structured:
            self.schema = _wrap_schema(schema) if self._wraps else schema

    def result(self, value: Any) -> Any:
        if self._plain and type(value) in _PLAIN:
            return self._members(value)
        if isinstance(value, self._results):
            return self._own_result(value)
        return self._models.read_result(self._members(value))

    def _members(self, value: Any) -> ResultText:
        text = self._write(value)
        wire = b'{"result":%b}' % text if self._wraps else text
        # A model is shown a text as it is: JSON would put it in quotes.
        shown = text if text.startswith(b'"') else json_text(wire.decode())
        template, slots = self._template
        return ResultText(template % slots((shown, wire)))

    @cached_property
    def _template(self) -> tuple[bytes, Callable[[tuple[bytes, bytes]], Any]]:
        """A result as text, and the getter of its shown text and its value, in their order."""
        value: list[JSONObject] = [] if self.schema is None else [{_VALUE: 0}]
        text = self._models.text_result(_SHOWN, *value).to_json()[1:-1].replace(b"%", b"%%")
        marks = [f'"{_SHOWN}"'.encode(), f'{{"{_VALUE}":0}}'.encode()]
        order = sorted((text.find(mark), slot) for slot, mark in enumerate(marks) if mark in text)
        for mark in marks:
            text = text.replace(mark, b"%b")
        return text, itemgetter(*(slot for _, slot in order))

    def _own_result(self, result: Any) -> Any:
        is_plain = isinstance(result, self._models.call_result)
        if self.schema is None or not is_plain or has_failed(result):
            return result
        # An absent member and null differ if a value may be anything.
        wire = result.to_wire()
        path = (*(self._models.places.structured or ()), *((RESULT,) if self._wraps else ()))
        try:
            found = find(wire, path)
        except LookupError:
            from ..core.json_pointers import pointer_along

            _refuse([Problem(pointer_along(wire, path), "Field required")])
        else:
            _refuse(self._check(found))
        return result


Output: TypeAlias = UnstructuredOutput | StructuredOutput


def _build_typed_output(models: RevisionModels, annotation: Any, label: str) -> Output:
    adapter = adapter_of(annotation, f"{label}: the return value cannot be JSON")
    schema = schema_of(adapter.json_schema, label, mode="serialization")
    validator, to_json = adapter.validator, adapter.serializer.to_json
    to_python = partial(adapter.serializer.to_python, by_alias=True, warnings=False)
    # These cause no warnings, and asking for errors takes longer than writing.
    plain = annotation in _PLAIN
    warnings: Any = not plain and "error"
    # If values are written in the form in which they are read, they can be read again in strict
    # mode. That finds an object that was changed after it was made.
    reads_again = schema == schema_of(adapter.json_schema, label, mode="validation")
    read = partial(validator.validate_json, strict=reads_again)

    def write(value: Any) -> bytes:
        try:
            valid = validator.validate_python(value)
            try:
                text = to_json(valid, by_alias=True, warnings=warnings)
            except PydanticSerializationError as error:
                text = json_text(without_surrogates(to_python(valid), label, error))
            if not plain:
                if reads_again:
                    read(text)
                if may_have_nan(text):
                    check_finite(to_python(valid))
        except (ValidationError, PydanticSerializationError, Unsendable) as error:
            raise _unfit(error, value, validator.validate_python) from None
        return text

    def check(wire: Any) -> list[Problem]:
        try:
            read(json_text(wire))
        except ValidationError as error:
            from ..core.many_errors import problems_within

            return problems_within(error, wire, "", lambda part: read(json_text(part)))
        return []

    return StructuredOutput(models, schema, write, check, plain=plain)


def _wrap_schema(schema: Mapping[str, Any]) -> JSONObject:
    """Return the schema of an object with one member; definitions move up."""
    inner = without(schema, "$defs")
    outer: JSONObject = {"type": "object", "properties": {RESULT: inner}, "required": [RESULT]}
    return {**outer, "$defs": schema["$defs"]} if "$defs" in schema else outer
