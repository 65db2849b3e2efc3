"""Models as JSON text, with `_meta` members of the runtime before the model's own."""

from collections.abc import Iterator
from typing import Any, Final, get_args

from pydantic_core import PydanticSerializationError

from ..core.errors import LocalError
from ..core.json import OBJECT, JSONObject, json_text, read_json
from ..core.models.base import WireModel, is_supplied
from ..core.sendable import Unsendable, as_python, check_finite, may_have_nan, without_surrogates
from ..core.spec import CallSpec, NotificationSpec, Part

_EMPTY: Final = b"{}"


def classes_in(expression: Any) -> Iterator[type]:
    expression = getattr(expression, "__value__", expression)  # the value of an alias
    if isinstance(expression, type) and not get_args(expression):
        yield expression
    for part in get_args(expression):
        yield from classes_in(part)


def body_text(spec: CallSpec[Any], model: Any, meta: bytes | None, part: Part = "result") -> bytes:
    """Return a model as JSON text, with added `_meta` members; raise `LocalError`."""
    try:
        if meta is not None:
            body: bytes = write_with_meta(model, meta)
        else:
            body = model.__pydantic_serializer__.to_json(model, by_alias=True, exclude_unset=True)
    except PydanticSerializationError:
        wire = as_python(model, by_alias=True, exclude_unset=True)
        return wire_text(spec, wire, meta, part, model)
    if may_have_nan(body):
        _check_numbers(spec, model)
    return body


def wire_text(
    spec: CallSpec[Any], wire: JSONObject, meta: bytes | None, part: Part, value: Any = None
) -> bytes:
    """Do the same for a JSON object, made of a `value`.

    Lone surrogates are sent as U+FFFD, but not in requests: a server would act on another text.
    """
    try:
        try:
            text = _splice_meta(wire, meta)
        except PydanticSerializationError as error:
            is_notification = isinstance(spec, NotificationSpec)
            if part == "params" and "client" in spec.senders and not is_notification:
                raise
            text = _splice_meta(without_surrogates(wire, spec.method, error), meta)
    except PydanticSerializationError as error:
        raise LocalError(f"{spec.method} cannot be JSON: {error}") from error
    if may_have_nan(text):
        _check_numbers(spec, value)
    return text


def _check_numbers(spec: CallSpec[Any], value: Any) -> None:
    try:
        check_finite(as_python(value, by_alias=True))
    except Unsendable as error:
        raise LocalError(f"{spec.method} cannot be JSON: {error}") from error


def write_with_meta(model: WireModel, members: bytes) -> bytes:
    meta, extra = model.__dict__.get("meta"), model.__pydantic_extra__
    # An undeclared member may be the `_meta`, or have the Python name of that field.
    clashes = extra and ("_meta" in extra or "meta" in extra)
    if clashes or not (meta is None or is_supplied(meta)):
        return _splice_meta(model.to_wire(), members)
    write = model.__pydantic_serializer__.to_json
    return _join_meta(members, write(model, by_alias=True, exclude_unset=True, exclude={"meta"}))


def _splice_meta(wire: JSONObject, members: bytes | None) -> bytes:
    if members is None:
        return json_text(wire)
    wire = {**wire}
    meta = wire.pop("_meta", None)
    if meta and type(meta) is OBJECT:
        return json_text({**wire, "_meta": {**meta, **read_json(b"{%b}" % members)}})
    return _join_meta(members, json_text(wire))


def _join_meta(members: bytes, body: bytes) -> bytes:
    return b'{"_meta":{%b}%b' % (members, b"}" if body == _EMPTY else b"," + body[1:])
