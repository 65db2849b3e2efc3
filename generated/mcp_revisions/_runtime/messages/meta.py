"""Models as JSON text, with members in `_meta` that the connection adds.

A connection has something to say in the `_meta` of what its users send: a token for progress, which
revision this is, who sends it. Mostly the user has said nothing there; then the members are spliced
into text that is already written. What the user has said stays, except where both name a member.
"""

from typing import Any, Final

from ..core.json import is_object, json_text, read_json
from ..core.models.base import WireModel, declared, supplied

_EMPTY: Final = b"{}"
_META: Final = {"meta"}

# Members that a class does not declare: one is the `_meta` itself, the other is called in the JSON
# what ours is called in Python, and would be left out with it.
_CLASHING: Final = ("_meta", "meta")


def written(model: WireModel | None, members: bytes) -> bytes:
    """Return a model as JSON text with `members` in its `_meta`; None is an empty object.

    Raise `pydantic_core.PydanticSerializationError` for what has no JSON form.
    """
    if model is None:
        return b'{"_meta":{%b}}' % members
    extra = model.__pydantic_extra__
    if extra and not extra.keys().isdisjoint(_CLASHING):
        return _merged(model.to_wire(), members)
    given = declared(model, "meta")
    if given is not None and not supplied(given):
        meta = given.to_wire() if isinstance(given, WireModel) else given
        members = json_text({**meta, **read_json(b"{%b}" % members)})[1:-1]
    body = model.__pydantic_serializer__.to_json(
        model, by_alias=True, exclude_unset=True, exclude=_META
    )
    if body == _EMPTY:
        return b'{"_meta":{%b}}' % members
    return b'{"_meta":{%b},%b' % (members, body[1:])


def spliced(wire: dict[str, Any], members: bytes | None) -> bytes:
    """Return a JSON object as JSON text with `members` in its `_meta`.

    Raise `pydantic_core.PydanticSerializationError` for what has no JSON form.
    """
    if members is None:
        return json_text(wire)
    if wire.get("_meta"):
        return _merged(wire, members)
    if "_meta" in wire:
        wire = {key: value for key, value in wire.items() if key != "_meta"}
    body = json_text(wire)
    return b'{"_meta":{%b}%b' % (members, b"}" if body == _EMPTY else b"," + body[1:])


def _merged(wire: dict[str, Any], members: bytes) -> bytes:
    given = wire.get("_meta")
    own = given if is_object(given) else {}
    return json_text({**wire, "_meta": {**own, **read_json(b"{%b}" % members)}})
