"""What the schema itself says about methods: constants, direction, params and pairing.

Facts must agree with it; a method without facts lives on it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_protogen.ir import Kind, Role
from mcp_protogen.normalise.references import target

Json = dict[str, Any]

# The unions of the specification's schema in which a message type says who sends it.
MESSAGE_UNIONS: tuple[tuple[str, Role, Kind], ...] = (
    ("ClientRequest", "client", "request"),
    ("ServerRequest", "server", "request"),
    ("ClientNotification", "client", "notification"),
    ("ServerNotification", "server", "notification"),
    # Since 2026-07-28 a server puts its questions into a result (basic/patterns/mrtr).
    ("InputRequest", "server", "embedded"),
)


@dataclass(frozen=True, slots=True)
class DerivedMethod:
    """A method as far as the schema knows it."""

    method: str
    message: str
    kind: Kind
    senders: tuple[Role, ...]
    params: str | None
    params_required: bool
    results: tuple[str, ...]


def methods(definitions: Json) -> Mapping[str, DerivedMethod]:
    """The methods of a normalised schema, by wire name."""
    found: dict[str, DerivedMethod] = {}
    for union, sender, kind in MESSAGE_UNIONS:
        for message in union_leaves(definitions, union):
            method = method_constant(definitions.get(message, {}))
            if method is None:
                continue
            known = found.get(method)
            senders: tuple[Role, ...] = (*(known.senders if known else ()), sender)
            found[method] = _method(
                definitions, method, message, kind, tuple(sorted(set(senders), key=str))
            )
    return found


def _method(
    definitions: Json, method: str, message: str, kind: Kind, senders: tuple[Role, ...]
) -> DerivedMethod:
    schema: Json = definitions[message]
    params: Json = schema["properties"].get("params", {})
    return DerivedMethod(
        method=method,
        message=message,
        kind=kind,
        senders=senders,
        params=target(params["$ref"]) if "$ref" in params else None,
        params_required="params" in schema.get("required", ()),
        results=() if kind == "notification" else tuple(_results(definitions, message)),
    )


def _results(definitions: Json, message: str) -> Iterator[str]:
    """The result types: from a typed response if the schema has one, else by name."""
    stem = message.removesuffix("Request")
    response: Json = (
        definitions.get(f"{stem}ResultResponse", {}).get("properties", {}).get("result", {})
    )
    arms = [response] if "$ref" in response else response.get("anyOf", [])
    if arms:
        yield from (target(arm["$ref"]) for arm in arms)
    elif f"{stem}Result" in definitions:
        yield f"{stem}Result"
    elif "EmptyResult" in definitions:
        yield "EmptyResult"


def method_constant(schema: Json) -> str | None:
    """The method that a message type is for, if it is one."""
    value = schema.get("properties", {}).get("method", {}).get("const")
    return value if isinstance(value, str) else None


def union_leaves(definitions: Json, name: str) -> list[str]:
    """The objects behind a union, in order; empty where there is no such union."""
    schema: Json = definitions.get(name, {})
    if "properties" in schema:
        return [name]
    arms = schema.get("anyOf") or ([schema] if "$ref" in schema else [])
    return [
        leaf
        for arm in arms
        if "$ref" in arm
        for leaf in union_leaves(definitions, target(arm["$ref"]))
    ]


def capabilities(definitions: Json, role: Role) -> Mapping[tuple[str, ...], bool]:
    """Capability paths of one role, with whether they are flags (true counts, not presence)."""
    return dict(_capabilities(definitions, f"{role.capitalize()}Capabilities", ()))


def _capabilities(
    definitions: Json, name: str, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], bool]]:
    for member, schema in definitions.get(name, {}).get("properties", {}).items():
        here = (*path, member)
        yield here, schema.get("type") == "boolean"
        if "$ref" in schema:
            yield from _capabilities(definitions, target(schema["$ref"]), here)
