"""From what the function of a tool returns to the result that a client gets.

What is content stays content: a text, blocks of the revision, a whole result. Anything else is
structured: it has an output schema, from the return annotation, and is held to it before it is
sent; the same JSON stands in a text block, for clients that know no other (2025-11-25,
server/tools, "Structured Content" and "Output Schema").
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Final, Protocol, Union, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, from_json

from ..codec import classes_in
from ..jsonvalue import JSONObject, is_object, json_text
from ..pointers import Problem, problems
from .arguments import adapter_of
from .handwritten import Check, checker
from .json_schemas import plain
from .marks import ToolMark
from .signatures import EMPTY, Signature, arms
from .vocabulary import Vocabulary, several

RESULT: Final = "result"
"""The member that holds what is no JSON object, where structured content has to be one."""


class Unfit(Exception):
    """A function returned what does not fit what is said of it: a fault of the server's own."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(f"{at or '/'}: {text}" for at, text in problems))


class Outcome(Protocol):
    """How the values that one function returns become results."""

    @property
    def schema(self) -> JSONObject | None:
        """The output schema; None if there is none."""
        ...

    def result(self, value: Any) -> Any:
        """The result for a value; raises `Unfit`."""
        ...


def outcome_of(signature: Signature, mark: ToolMark, words: Vocabulary) -> Outcome:
    """How the values of a function become results; raises `TypeError` and `ValueError`."""
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


def _without_results(annotation: Any, words: Vocabulary) -> Any:
    """What is left to describe when whole results, which may stand beside it, are left out."""
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    left = [one for one in get_args(annotation) if one not in words.call_results]
    return Union[tuple(left)] if left else next(iter(words.call_results))  # noqa: UP007


def _is_structured(annotation: Any, words: Vocabulary) -> bool:
    """Whether values of a type are described by a schema, and are not content."""
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
    """Whether an annotation leaves it open what the values are, or what they are lists of.

    Then there may be content among them, which no schema describes.
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
    """Content, or whatever the function says where its annotation leaves that open.

    Where `lists_content`, a list of nothing but texts is content, too.
    """

    schema = None

    def __init__(self, words: Vocabulary, *, structured: bool, lists_content: bool) -> None:
        self._words = words
        self._content: tuple[type, ...] = tuple(words.blocks)
        self._results: tuple[type, ...] = tuple(words.call_results)
        self._structured = structured and words.has_structured
        self._lists_content = lists_content

    def result(self, value: Any) -> Any:
        """See `Outcome.result`."""
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
        """The blocks of content that a value is, if it is that."""
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
        raise Unfit([Problem("", str(error))]) from error


class _Structured(ABC):
    """What is structured, with a schema."""

    def __init__(self, words: Vocabulary, schema: JSONObject) -> None:
        self._words = words
        self._wraps = not words.has_any_structured and schema.get("type") != "object"
        self._results: tuple[type, ...] = tuple(words.call_results)
        self.schema: JSONObject | None = None
        if words.has_structured:
            self.schema = _wrapped(schema) if self._wraps else schema

    def result(self, value: Any) -> Any:
        """See `Outcome.result`."""
        if isinstance(value, self._results):
            return self._held(value)
        text = self.text(value)
        if self.schema is None:
            return self._words.said(text.decode())
        if self._wraps:
            text = b'{"%b":%b}' % (RESULT.encode(), text)
        return self._words.structured(text.decode(), from_json(text))

    def _held(self, result: Any) -> Any:
        """A result that the function has made, if what is structured in it fits."""
        if (
            self.schema is None
            or result.is_error
            or not isinstance(result, self._words.call_result)
        ):
            return result
        # What is absent may be null, where a value may be anything; so it is looked for, not at.
        found = result.to_wire()
        for member in ("structuredContent", RESULT) if self._wraps else ("structuredContent",):
            if not is_object(found) or member not in found:
                raise Unfit([Problem(f"/{member}", "Field required")])
            found = found[member]
        self.check(found)
        return result

    @abstractmethod
    def text(self, value: Any) -> bytes:
        """A value as JSON text, once it is known to fit; raises `Unfit`."""

    @abstractmethod
    def check(self, wire: Any) -> None:
        """Raise `Unfit` for decoded JSON that does not fit."""


class Typed(_Structured):
    """What a return annotation describes."""

    def __init__(self, words: Vocabulary, annotation: Any, where: str) -> None:
        adapter = adapter_of(annotation, f"{where}: what it returns")
        schema = plain(adapter.json_schema, where, mode="serialization")
        read = plain(adapter.json_schema, where, mode="validation")
        super().__init__(words, schema)
        self._validator = adapter.validator
        self._write = adapter.serializer.to_json
        # What is written in the form in which it would be read can be read again, with no more
        # allowance than a schema makes: that finds what was changed after an object was made.
        self._reads_again = schema == read

    def text(self, value: Any) -> bytes:
        """See `_Structured.text`."""
        try:
            written = self._write(
                self._validator.validate_python(value), by_alias=True, warnings="error"
            )
            if self._reads_again:
                self._validator.validate_json(written, strict=True)
        except ValidationError as error:
            raise Unfit(problems(error, value)) from None
        except PydanticSerializationError as error:
            raise Unfit([Problem("", str(error))]) from error
        return written

    def check(self, wire: Any) -> None:
        """See `_Structured.check`."""
        try:
            self._validator.validate_json(json_text(wire), strict=self._reads_again)
        except ValidationError as error:
            raise Unfit(problems(error, wire)) from None


class Checked(_Structured):
    """What a schema describes that is written by hand."""

    def __init__(self, words: Vocabulary, schema: JSONObject, check: Check) -> None:
        super().__init__(words, schema)
        self._wraps = False
        self.schema = schema if words.has_structured else None
        self._check = check

    def text(self, value: Any) -> bytes:
        """See `_Structured.text`."""
        written = _written(value)
        self.check(from_json(written))
        return written

    def check(self, wire: Any) -> None:
        """See `_Structured.check`."""
        found = self._check(wire)
        if found:
            raise Unfit(found)


def _wrapped(schema: Mapping[str, Any]) -> JSONObject:
    """The schema of an object whose one member a schema describes; its definitions move up."""
    inner = {key: value for key, value in schema.items() if key != "$defs"}
    outer: JSONObject = {"type": "object", "properties": {RESULT: inner}, "required": [RESULT]}
    return {**outer, "$defs": schema["$defs"]} if "$defs" in schema else outer
