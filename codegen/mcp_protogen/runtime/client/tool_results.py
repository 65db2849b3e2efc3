"""Tool results read as types of the caller."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, TypeGuard

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from ..core.errors import InvalidAnswer, ProtocolError
from ..core.json import is_object, read_json
from ..core.json_pointers import ABSENT, pointer_along
from ..core.many_errors import problems_within
from ..core.models.base import ToolResult, has_failed, member_at, places_of
from ..core.spec import AnyRequest
from ..core.value_paths import PathEntry, ValuePath

_build_adapter: Final = lru_cache(TypeAdapter[Any])

# Servers wrap a result whose schema does not describe an object.
_WRAPPED: Final = "result"


class ToolFailed(ProtocolError):
    """A tool has failed; `result` has the reason."""

    def __init__(self, method: str, result: Any) -> None:
        super().__init__(f"{method}: {result.text or 'the tool failed without a message'}")
        self.result: Final = result


def reader(spec: AnyRequest, as_: Any, check: bool | None) -> Callable[[Any], Any]:
    """Return a function that reads a result, as the type `as_` if given.

    It raises `ToolFailed` for a failure, unless `check` is false, and `InvalidAnswer`.
    """
    adapter = None if as_ is None else _adapter(as_)

    def read(result: Any) -> Any:
        failed = has_failed(result)
        if failed and check is not False:
            raise ToolFailed(spec.method, result)
        return result if failed or adapter is None else _read_result(spec.method, result, adapter)

    return read


def request_data(spec: AnyRequest, params: Any, requested: ValuePath | None) -> Any:
    """Return params that request structured content, too, unless they say what they request."""
    if requested is None or member_at(params, requested[:-1]):
        return params
    places = places_of(spec.results[0])
    steps = (*(places.content or ()), *(places.structured or ()))
    entries = [dict(step.constants) for step in steps if isinstance(step, PathEntry)]
    return spec.params.from_wire({**params.to_wire(), str(requested[0]): entries})


def has_data(result: ToolResult) -> bool:
    """Return whether there is structured content, which may be null."""
    return member_at(result, result.PLACES.structured, ABSENT) is not ABSENT


def _adapter(as_: Any) -> TypeAdapter[Any]:
    if _is_adapter(as_):
        return as_
    try:
        return _build_adapter(as_)
    except TypeError:
        return TypeAdapter(as_)


def _is_adapter(as_: object) -> TypeGuard[TypeAdapter[Any]]:
    return isinstance(as_, TypeAdapter)


def _read_result(method: str, result: ToolResult, adapter: TypeAdapter[Any]) -> Any:
    first: InvalidAnswer | None = None

    def validate(value: Any) -> Any:
        return adapter.validate_json(to_json(value))

    for suffix, value in _candidates(result):
        try:
            return validate(value)
        except ValidationError as error:
            pointer = pointer_of(result, structured=has_data(result)) + suffix
            faults = problems_within(error, value, pointer, validate)
            first = first or InvalidAnswer(f"the result of {method} does not fit the type", faults)
    assert first is not None
    raise first


def _candidates(result: ToolResult) -> Iterator[tuple[str, Any]]:
    """Yield possible meanings, with pointers: only the wanted type tells if a value was wrapped."""
    structured = has_data(result)
    value = result.data if structured else _parse_text(result.text)
    yield "", value
    if is_object(value) and value.keys() == {_WRAPPED}:
        yield f"/{_WRAPPED}", value[_WRAPPED]
    if not structured:
        yield "", result.text


def pointer_of(result: ToolResult, *, structured: bool) -> str:
    """Return the pointer to the content of a result, from the message."""
    path = result.PLACES.structured if structured else result.PLACES.content
    return f"/result{pointer_along(result.to_wire(), path or ())}"


def _parse_text(text: str) -> Any:
    try:
        return read_json(text)
    except ValueError:
        return text
