"""Conversion of what a tool's function returns into the result that a client gets.

Content stays content: a text, content blocks of the revision, a whole result. Any other value is
structured: it has an output schema, made from the return annotation, and is checked against it
before it is sent. The same JSON goes into a text block, for clients that do not know structured
content (2025-11-25, server/tools, "Structured Content" and "Output Schema").
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Final, Protocol, Union, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, from_json

from ..core.json import JSONObject, is_object, json_text
from ..core.models.validation_errors import Problem, problems
from ..core.schema_validation import Check, checker
from ..messages.writing import classes_in
from .arguments import adapter_of
from .decorators import ToolMark
from .json_schema import plain
from .revision_models import RevisionModels, several
from .signatures import EMPTY, Signature, arms

RESULT: Final = "result"
"""The member that holds a value which is not a JSON object, in revisions that require one."""


class UnfitResult(Exception):
    """A return value that does not fit its schema or type: a fault of the server's own."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(f"{at or '/'}: {text}" for at, text in problems))


class ToolOutput(Protocol):
    """The conversion of one function's return values into results."""

    @property
    def schema(self) -> JSONObject | None:
        """The output schema, or None."""
        ...

    def result(self, value: Any) -> Any:
        """Return the result for a value; raise `UnfitResult`."""
        ...


def output_of(signature: Signature, mark: ToolMark, words: RevisionModels) -> ToolOutput:
    """Return the conversion for a function; raise `TypeError` and `ValueError`."""
    if mark.output_schema is not None:
        what = f"{signature.where}: the output schema"
        schema = dict(mark.output_schema)
        check = checker(schema, what, of_objects=not words.has_any_structured)
        return Checked(words, schema, check)
    annotation = _without_results(signature.returns, words)
    if not mark.structured or not _is_structured(annotation, words):
        structured = mark.structured and _is_open(annotation)
        content = not words.blocks.isdisjoint(classes_in(annotation))
        return AsItComes(words, structured=structured, lists_content=content)
    return Typed(words, annotation, signature.where)


def _without_results(annotation: Any, words: RevisionModels) -> Any:
    """Return an annotation without the classes of whole results, which need no description."""
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    left = [one for one in get_args(annotation) if one not in words.call_results]
    return Union[tuple(left)] if left else next(iter(words.call_results))  # noqa: UP007


def _is_structured(annotation: Any, words: RevisionModels) -> bool:
    """Return whether a schema describes the values of a type, which then are not content."""
    if _is_open(annotation):
        return False
    inside = frozenset(classes_in(annotation))
    content = words.blocks | words.call_results
    if inside & content:
        return False
    # Optional text is text or nothing.
    found = arms(annotation)
    return not (str in found and all(arm in (str, NoneType) for arm in found))


_LISTS: Final = frozenset({list, tuple, Collection, Iterable, Sequence})


def _is_open(annotation: Any) -> bool:
    """Return whether an annotation does not say what the values are, or what their lists hold.

    Such values may hold content, which no schema describes.
    """
    if annotation is EMPTY:
        return True
    return any(arm in (Any, object) or _lists_anything(arm) for arm in arms(annotation))


def _lists_anything(annotation: Any) -> bool:
    if (get_origin(annotation) or annotation) not in _LISTS:
        return False
    items = [one for one in get_args(annotation) if one is not Ellipsis]
    may_be_blocks = all(one is str or _is_open(one) for one in items)
    return not items or (may_be_blocks and any(map(_is_open, items)))


class AsItComes:
    """Content, or any value of a function whose annotation does not say what it returns.

    With `lists_content`, a list of texts is content too.
    """

    schema = None

    def __init__(self, words: RevisionModels, *, structured: bool, lists_content: bool) -> None:
        self._words = words
        self._content: tuple[type, ...] = tuple(words.blocks)
        self._results: tuple[type, ...] = tuple(words.call_results)
        self._structured = structured and words.has_structured
        self._lists_content = lists_content

    def result(self, value: Any) -> Any:
        words = self._words
        if isinstance(value, str):
            return words.said(value)
        if isinstance(value, self._results):
            return value
        content = self._blocks(value)
        if content is not None:
            return words.call_result(content=content)
        text = _written(value)
        wire = from_json(text) if self._structured else None
        if self._structured and (words.has_any_structured or is_object(wire)):
            return words.structured(text.decode(), wire)
        return words.said(text.decode())

    def _blocks(self, value: Any) -> list[Any] | None:
        """Return the content blocks of a value, or None if it is not content."""
        if value is None:
            return []
        listed = several(value)
        found = any(isinstance(one, self._content) for one in listed)
        texts = all(isinstance(one, str) for one in listed)
        if not found and not (texts and (self._lists_content or not listed)):
            return None
        return [self._block(one) for one in listed]

    def _block(self, value: Any) -> Any:
        if isinstance(value, self._content):
            return value
        text = value if isinstance(value, str) else _written(value).decode()
        return self._words.text(text=text)


def _written(value: Any) -> bytes:
    try:
        return json_text(value)
    except PydanticSerializationError as error:
        raise UnfitResult([Problem("", str(error))]) from error


class _Structured(ABC):
    """Structured results, with a schema."""

    def __init__(self, words: RevisionModels, schema: JSONObject) -> None:
        self._words = words
        self._wraps = not words.has_any_structured and schema.get("type") != "object"
        self._results: tuple[type, ...] = tuple(words.call_results)
        self.schema: JSONObject | None = None
        if words.has_structured:
            self.schema = _wrapped(schema) if self._wraps else schema

    def result(self, value: Any) -> Any:
        if isinstance(value, self._results):
            return self._held(value)
        text = self.text(value)
        if self.schema is None:
            return self._words.said(text.decode())
        if self._wraps:
            text = b'{"%b":%b}' % (RESULT.encode(), text)
        return self._words.structured(text.decode(), from_json(text))

    def _held(self, result: Any) -> Any:
        """Return a result that the function made itself; check its structured content."""
        if (
            self.schema is None
            or result.is_error
            or not isinstance(result, self._words.call_result)
        ):
            return result
        # An absent member and null differ where a value may be anything: look for the member.
        found = result.to_wire()
        for member in ("structuredContent", RESULT) if self._wraps else ("structuredContent",):
            if not is_object(found) or member not in found:
                raise UnfitResult([Problem(f"/{member}", "Field required")])
            found = found[member]
        self.check(found)
        return result

    @abstractmethod
    def text(self, value: Any) -> bytes:
        """Return a value as JSON text after a check; raise `UnfitResult`."""

    @abstractmethod
    def check(self, wire: Any) -> None:
        """Raise `UnfitResult` for decoded JSON that does not fit."""


class Typed(_Structured):
    """Results that a return annotation describes."""

    def __init__(self, words: RevisionModels, annotation: Any, where: str) -> None:
        adapter = adapter_of(annotation, f"{where}: the return value")
        schema = plain(adapter.json_schema, where, mode="serialization")
        read = plain(adapter.json_schema, where, mode="validation")
        super().__init__(words, schema)
        self._validator = adapter.validator
        self._write = adapter.serializer.to_json
        # If a value is written in the form in which it is read, it can be read again in strict
        # mode. That finds an object that was changed after it was made.
        self._reads_again = schema == read

    def text(self, value: Any) -> bytes:
        try:
            written = self._write(
                self._validator.validate_python(value), by_alias=True, warnings="error"
            )
            if self._reads_again:
                self._validator.validate_json(written, strict=True)
        except ValidationError as error:
            raise UnfitResult(problems(error, value)) from None
        except PydanticSerializationError as error:
            raise UnfitResult([Problem("", str(error))]) from error
        return written

    def check(self, wire: Any) -> None:
        try:
            self._validator.validate_json(json_text(wire), strict=self._reads_again)
        except ValidationError as error:
            raise UnfitResult(problems(error, wire)) from None


class Checked(_Structured):
    """Results that a handwritten schema describes."""

    def __init__(self, words: RevisionModels, schema: JSONObject, check: Check) -> None:
        super().__init__(words, schema)
        self._wraps = False
        self.schema = schema if words.has_structured else None
        self._check = check

    def text(self, value: Any) -> bytes:
        written = _written(value)
        self.check(from_json(written))
        return written

    def check(self, wire: Any) -> None:
        found = self._check(wire)
        if found:
            raise UnfitResult(found)


def _wrapped(schema: Mapping[str, Any]) -> JSONObject:
    """Return the schema of an object whose only member has `schema`; its definitions move up."""
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    outer: JSONObject = {"type": "object", "properties": {RESULT: inner}, "required": [RESULT]}
    return {**outer, "$defs": schema["$defs"]} if "$defs" in schema else outer
