"""The check that the message unions can be read as methods, with params and a result.

Facts are not used: a message that is refused here would leave generated stubs without a type.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from mcp_protogen.base import graph, jsonpointer, names
from mcp_protogen.base.problems import Problem, raising
from mcp_protogen.pipeline.derive import skeleton
from mcp_protogen.pipeline.ir import ROLES
from mcp_protogen.pipeline.normalise.references import target

Json = dict[str, Any]

_MOST_CAPABILITIES = 500


@raising
def refuse_unclear(definitions: Json, place: str) -> Iterator[Problem]:
    """Raise `ProblemError` for each message of a normalised schema that cannot be a method.

    `place` names the schema's file.
    """
    if not skeleton.union_leaves(definitions, "ClientRequest"):
        hint = "is this the schema.json of an MCP revision?"
        pointer = "/$defs/ClientRequest"
        yield Problem("no-message-unions", "ClientRequest has no arms", place, pointer, hint)
    yield from _unclear_methods(definitions, place)
    yield from _endless_capabilities(definitions, place)
    for method in skeleton.methods(definitions).values():
        yield from _incomplete(method, definitions, place)


def _unclear_methods(definitions: Json, place: str) -> Iterator[Problem]:
    for union, _, _ in skeleton.MESSAGE_UNIONS:
        for message in skeleton.union_leaves(definitions, union):
            if skeleton.method_constant(definitions.get(message, {})) is None:
                pointer = jsonpointer.join("$defs", message)
                hint = "give it a required member `method` with a constant"
                yield Problem(
                    "bad-message", f"{message} of {union} has no method", place, pointer, hint
                )
    for method, found in skeleton.uses(definitions).items():
        why = _unlike(list(found), definitions)
        types = list(dict.fromkeys(use.message for use in found))
        for name in types if why is not None else ():
            message = f"{' and '.join(types)} are both messages of {method!r:.80}, but {why}"
            hint = "give one of them another method, or both the same params"
            yield Problem("bad-message", message, place, jsonpointer.join("$defs", name), hint)
        name = skeleton.choice_name(found[0].message)
        params = skeleton.params_of(definitions, (use.message for use in found))
        if len(params) > 1 and name in definitions:
            message = f"the params of {method!r:.80} would be called {name}, like another type"
            hint = "rename that type in the schema"
            yield Problem("name-collision", message, place, jsonpointer.join("$defs", name), hint)


def _endless_capabilities(definitions: Json, place: str) -> Iterator[Problem]:
    """Yield a problem for each type of capabilities whose paths have no end, or are too many."""
    members = {name: schema.get("properties", {}) for name, schema in definitions.items()}
    inner = {
        name: [target(one["$ref"]) for one in members[name].values() if "$ref" in one]
        for name in members
    }
    hint = "let it be any object: the members of a capability are capabilities, too"
    for owner in (f"{role.capitalize()}Capabilities" for role in ROLES):
        within = {name: inner[name] for name in graph.reached(inner, [owner])}
        circular = graph.circular(within)
        for name in sorted(circular):
            message = f"{name} of {owner} has itself as a capability inside of it"
            yield Problem("bad-message", message, place, jsonpointer.join("$defs", name), hint)
        paths: dict[str, int] = {}
        for name in graph.targets_first(within) if not circular else ():
            paths[name] = len(members[name]) + sum(paths[one] for one in within[name])
        if paths.get(owner, 0) > _MOST_CAPABILITIES:
            message = f"{owner} has more than {_MOST_CAPABILITIES} capabilities"
            yield Problem("bad-message", message, place, jsonpointer.join("$defs", owner), hint)


def _unlike(found: Sequence[skeleton.Use], definitions: Json) -> str | None:
    """Return why the messages of a method cannot be alternatives; None if they can."""
    messages = {use.message for use in found}
    if len(messages) < 2:
        return None
    if len({use.kind == "notification" for use in found}) > 1:
        return "one is a notification"
    schemas: list[Json] = [
        definitions[one]["properties"].get("params", {}) for one in sorted(messages)
    ]
    if all(schema == schemas[0] for schema in schemas):
        return None
    if not all("$ref" in schema for schema in schemas):
        return "their params have no named types, and cannot be distinguished"
    if len({use.sender for use in found}) > 1:
        return "the params depend on the sender"
    return None


def _incomplete(method: skeleton.DerivedMethod, definitions: Json, place: str) -> Iterator[Problem]:
    pointer = jsonpointer.join("$defs", method.message)
    try:
        names.stem(method.message)
    except names.UnsafeName:
        message = f"{method.message!r:.80} cannot name a Python method"
        hint = "name it after its purpose, as in CallToolRequest"
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
