"""The information about methods in the schema itself: constants, direction, params, results.

Facts must agree with it; a method without facts has only this.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.pipeline.ir import MessageKind, Role
from mcp_protogen.pipeline.normalise.references import arms_within, target, to

Json = dict[str, Any]

# The unions of the specification's schema, which show the sender of each message type.
MESSAGE_UNIONS: tuple[tuple[str, Role, MessageKind], ...] = (
    ("ClientRequest", "client", "request"),
    ("ServerRequest", "server", "request"),
    ("ClientNotification", "client", "notification"),
    ("ServerNotification", "server", "notification"),
    # Since 2026-07-28 a server puts its questions into a result (basic/patterns/mrtr).
    ("InputRequest", "server", "embedded"),
)


@dataclass(frozen=True, slots=True)
class DerivedMethod:
    """A method as the schema describes it."""

    method: str
    message: str
    kind: MessageKind
    senders: tuple[Role, ...]
    params: str | None
    params_required: bool
    results: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Use:
    """A message type in one of the unions."""

    message: str
    sender: Role
    kind: MessageKind


def uses(definitions: Json) -> Mapping[str, list[Use]]:
    """Return the messages of each method, by wire name."""
    found: dict[str, list[Use]] = {}
    for union, sender, kind in MESSAGE_UNIONS:
        for message in union_leaves(definitions, union):
            method = method_constant(definitions.get(message, {}))
            if method is not None:
                found.setdefault(method, []).append(Use(message, sender, kind))
    return found


def methods(definitions: Json) -> Mapping[str, DerivedMethod]:
    """Return the methods of a normalised schema, by wire name."""
    return {
        method: _method(definitions, method, found) for method, found in uses(definitions).items()
    }


def _method(definitions: Json, method: str, found: Sequence[Use]) -> DerivedMethod:
    messages = list(dict.fromkeys(use.message for use in found))
    params = params_of(definitions, messages)
    several = len(params) > 1
    # A message that is also a request stays one if there is no result that could hold it.
    kind = found[-1 if "InputRequiredResult" in definitions else 0].kind
    return DerivedMethod(
        method=method,
        message=messages[0],
        kind=kind,
        senders=tuple(sorted({use.sender for use in found}, key=str)),
        params=choice_name(messages[0]) if several else next(iter(params), None),
        params_required=all("params" in definitions[one].get("required", ()) for one in messages),
        results=() if kind == "notification" else tuple(_results(definitions, messages)),
    )


def params_of(definitions: Json, messages: Iterable[str]) -> list[str]:
    """Return the types of the params of some messages, each once."""
    params = (definitions[one]["properties"].get("params", {}) for one in messages)
    return list(dict.fromkeys(target(one["$ref"]) for one in params if "$ref" in one))


def choice_name(message: str) -> str:
    """Return the name for params of several types, by the first message of the method."""
    return f"{message}ParamsChoice"


def with_choices(definitions: Json) -> Json:
    """Return `definitions` with a union for the params of each method that has several types."""
    choices = {
        choice_name(found[0].message): {"anyOf": [to(name) for name in params]}
        for found in uses(definitions).values()
        if len(params := params_of(definitions, (use.message for use in found))) > 1
    }
    return dict(sorted({**definitions, **choices}.items())) if choices else definitions


def _results(definitions: Json, messages: Iterable[str]) -> Iterable[str]:
    """Yield the result types: from a typed response if there is one, else by name."""
    found = [name for message in messages for name in _results_of(definitions, message)]
    return dict.fromkeys(found or (name for name in ("EmptyResult",) if name in definitions))


def _results_of(definitions: Json, message: str) -> Iterator[str]:
    stem = message.removesuffix("Request")
    response: Json = (
        definitions.get(f"{stem}ResultResponse", {}).get("properties", {}).get("result", {})
    )
    arms = [response] if "$ref" in response else response.get("anyOf", [])
    if arms:
        # The plain one first, wherever the schema has it.
        yield from sorted((target(arm["$ref"]) for arm in arms), key=f"{stem}Result".__ne__)
    elif f"{stem}Result" in definitions:
        yield f"{stem}Result"


def method_constant(schema: Json) -> str | None:
    """Return the method that a message type is for, if it is one."""
    value = schema.get("properties", {}).get("method", {}).get("const")
    return value if isinstance(value, str) else None


def messages(definitions: Json) -> Iterator[tuple[str, str]]:
    """Yield the types that are messages of a schema as it is published, with their methods."""
    for name, schema in definitions.items():
        parts = (schema, *schema.get("allOf", ())) if is_object(schema) else ()
        for part in filter(is_object, parts):
            method = method_constant(part)
            if method is not None:
                yield name, method


def union_leaves(definitions: Json, name: str) -> list[str]:
    """Return the objects of a union, in order; empty if there is no such union."""
    return [arm for arm in arms_within(name, definitions) if "properties" in definitions[arm]]


def capabilities(definitions: Json, role: Role) -> Mapping[tuple[str, ...], bool]:
    """Return capability paths of one role, with whether each is a flag.

    A flag counts if it is true, any other capability if it is present.
    """
    return dict(_capabilities(definitions, f"{role.capitalize()}Capabilities", ()))


def _capabilities(
    definitions: Json, name: str, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], bool]]:
    for member, schema in definitions.get(name, {}).get("properties", {}).items():
        here = (*path, member)
        yield here, schema.get("type") == "boolean"
        if "$ref" in schema:
            yield from _capabilities(definitions, target(schema["$ref"]), here)
