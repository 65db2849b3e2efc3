"""Whether the message unions can be read as methods: one message type each, with params and result.

Facts are not consulted: what is refused here would leave generated stubs without a type.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from mcp_protogen import jsonpointer, names
from mcp_protogen.derive import skeleton
from mcp_protogen.problems import Problem

Json = dict[str, Any]


def problems(definitions: Json, place: str) -> Iterator[Problem]:
    """What keeps the messages of a normalised schema from being methods; `place` names its file."""
    if not skeleton.union_leaves(definitions, "ClientRequest"):
        hint = "is this the schema.json of an MCP revision?"
        pointer = "/$defs/ClientRequest"
        yield Problem("no-message-unions", "ClientRequest has no arms", place, pointer, hint)
    yield from _unclear_methods(definitions, place)
    for method in skeleton.methods(definitions).values():
        yield from _incomplete(method, definitions, place)


def _unclear_methods(definitions: Json, place: str) -> Iterator[Problem]:
    messages: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for union, _, _ in skeleton.MESSAGE_UNIONS:
        for message in skeleton.union_leaves(definitions, union):
            method = skeleton.method_constant(definitions.get(message, {}))
            if method is not None:
                messages[method][message] = None
                continue
            pointer = jsonpointer.join("$defs", message)
            hint = "give it a required member `method` with a constant"
            yield Problem(
                "bad-message", f"{message} of {union} has no method", place, pointer, hint
            )
    for method, types in messages.items():
        if len(types) > 1:
            message = f"{' and '.join(types)} are both for {method!r:.80}"
            hint = "a method has one message type, whoever sends it"
            yield Problem("bad-message", message, place, "/$defs", hint)


def _incomplete(method: skeleton.DerivedMethod, definitions: Json, place: str) -> Iterator[Problem]:
    pointer = jsonpointer.join("$defs", method.message)
    try:
        names.stem(method.message)
    except names.UnsafeName:
        message = f"{method.message!r:.80} cannot name a Python method"
        hint = "call it after what it asks for or tells, as in CallToolRequest"
        yield Problem("unsafe-name", message, place, pointer, hint)
    params: Json = definitions[method.message]["properties"].get("params", {})
    if (method.params is None and params.get("type", "object") != "object") or "anyOf" in params:
        message = f"the params of {method.message} are not one named object"
        hint = "define them as a type and refer to it"
        yield Problem("bad-message", message, place, f"{pointer}/properties/params", hint)
    if method.kind != "notification" and not method.results:
        stem = method.message.removesuffix("Request")
        hint = f"define {stem}Result, {stem}ResultResponse or EmptyResult"
        yield Problem("bad-message", f"{method.message} has no result type", place, pointer, hint)
