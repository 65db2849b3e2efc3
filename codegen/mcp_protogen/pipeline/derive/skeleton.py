"""The information about methods in the schema itself: constants, direction, params, results.

Facts must agree with it; a method without facts has only this. A message that cannot be a method is
refused: generated stubs would lack a type.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_protogen.base import graph, jsonpointer, names
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Problem, raise_errors
from mcp_protogen.pipeline.ir import ROLES, MessageKind, Role
from mcp_protogen.pipeline.normalise.references import arms_within, definition_name, to

Json = dict[str, Any]

# The unions of the specification's schema, with the sender of their messages.
MESSAGE_UNIONS: tuple[tuple[str, Role, MessageKind], ...] = (
    ("ClientRequest", "client", "request"),
    ("ServerRequest", "server", "request"),
    ("ClientNotification", "client", "notification"),
    ("ServerNotification", "server", "notification"),
    # Since 2026-07-28 a server puts its questions into a result (basic/patterns/mrtr).
    ("InputRequest", "server", "embedded"),
)

_MOST_CAPABILITIES = 500


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


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A normalised schema, with its methods by wire name, and capabilities by role.

    `unsent` are messages outside its unions, with their methods.
    """

    schema: Json
    methods: Mapping[str, DerivedMethod]
    unsent: Mapping[str, str]
    capabilities: Mapping[Role, Mapping[tuple[str, ...], bool]]

    @property
    def definitions(self) -> Json:
        """The definitions of the schema."""
        definitions: Json = self.schema["$defs"]
        return definitions


def skeleton_of(schema: Json, place: str) -> Skeleton:
    """Return the skeleton of a normalised schema, with a union for params of several types.

    Raise `ProblemError` for each message that cannot be a method; `place` names the file.
    """
    definitions: Json = schema["$defs"]
    used, of_methods = uses(definitions), methods(definitions)
    problems = [*_unclear_methods(used, definitions, place)]
    problems += _endless_capabilities(definitions, place)
    for method in of_methods.values():
        problems += _incomplete(method, definitions, place)
    raise_errors(problems)
    sent = {use.message for of_method in used.values() for use in of_method}
    return Skeleton(
        schema={**schema, "$defs": _with_choices(used, definitions)},
        methods=of_methods,
        unsent={name: method for name, method in messages(definitions) if name not in sent},
        capabilities={role: capabilities(definitions, role) for role in ROLES},
    )


def uses(definitions: Json) -> Mapping[str, list[Use]]:
    """Return the messages of each method, by wire name."""
    result: dict[str, list[Use]] = {}
    for union, sender, kind in MESSAGE_UNIONS:
        for message in union_leaves(definitions, union):
            method = method_constant(definitions.get(message, {}))
            if method is not None:
                result.setdefault(method, []).append(Use(message, sender, kind))
    return result


def methods(definitions: Json) -> Mapping[str, DerivedMethod]:
    """Return the methods of a normalised schema, by wire name."""
    return {
        method: _method(definitions, method, found) for method, found in uses(definitions).items()
    }


def _method(definitions: Json, method: str, method_uses: Sequence[Use]) -> DerivedMethod:
    messages = list(dict.fromkeys(use.message for use in method_uses))
    params = _params_of(definitions, messages)
    several = len(params) > 1
    # A message that is also a request stays a request without a result type that can contain it.
    kind = method_uses[-1 if "InputRequiredResult" in definitions else 0].kind
    return DerivedMethod(
        method=method,
        message=messages[0],
        kind=kind,
        senders=tuple(sorted({use.sender for use in method_uses}, key=str)),
        params=_choice_name(messages[0]) if several else next(iter(params), None),
        params_required=all(
            "params" in definitions[message].get("required", ()) for message in messages
        ),
        results=() if kind == "notification" else tuple(_results(definitions, messages)),
    )


def _params_of(definitions: Json, messages: Iterable[str]) -> list[str]:
    params = (definitions[message]["properties"].get("params", {}) for message in messages)
    return list(
        dict.fromkeys(definition_name(schema["$ref"]) for schema in params if "$ref" in schema)
    )


def _choice_name(message: str) -> str:
    """Return the name for params of several types, by the first message of the method."""
    return f"{message}ParamsChoice"


def _with_choices(used: Mapping[str, Sequence[Use]], definitions: Json) -> Json:
    choices = {
        _choice_name(found[0].message): {"anyOf": [to(name) for name in params]}
        for found in used.values()
        if len(params := _params_of(definitions, (use.message for use in found))) > 1
    }
    return dict(sorted({**definitions, **choices}.items())) if choices else definitions


def _results(definitions: Json, messages: Iterable[str]) -> Iterable[str]:
    """Yield the result types: from a typed response, or by name."""
    names = [name for message in messages for name in _results_of(definitions, message)]
    return dict.fromkeys(names or (name for name in ("EmptyResult",) if name in definitions))


def _results_of(definitions: Json, message: str) -> Iterator[str]:
    stem = message.removesuffix("Request")
    response: Json = (
        definitions.get(f"{stem}ResultResponse", {}).get("properties", {}).get("result", {})
    )
    arms = [response] if "$ref" in response else response.get("anyOf", [])
    if arms:
        # The plain result comes first.
        yield from sorted(
            (definition_name(arm["$ref"]) for arm in arms), key=f"{stem}Result".__ne__
        )
    elif f"{stem}Result" in definitions:
        yield f"{stem}Result"


def method_constant(schema: Json) -> str | None:
    """Return the method of a message type; None for other types."""
    value = schema.get("properties", {}).get("method", {}).get("const")
    return value if isinstance(value, str) else None


def messages(definitions: Json) -> Iterator[tuple[str, str]]:
    """Yield the message types of a published schema, with their methods."""
    for name, schema in definitions.items():
        parts = (schema, *schema.get("allOf", ())) if is_object(schema) else ()
        for part in filter(is_object, parts):
            method = method_constant(part)
            if method is not None:
                yield name, method


def union_leaves(definitions: Json, name: str) -> list[str]:
    """Return the objects of a union, in order; empty for an unknown union."""
    return [arm for arm in arms_within(name, definitions) if "properties" in definitions[arm]]


def capabilities(definitions: Json, role: Role) -> Mapping[tuple[str, ...], bool]:
    """Return the capability paths of one role; the values say whether they are flags.

    A flag is declared if it is true, any other capability if it is present.
    """
    return dict(_capabilities(definitions, f"{role.capitalize()}Capabilities", ()))


def _capabilities(
    definitions: Json, name: str, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], bool]]:
    for member, schema in definitions.get(name, {}).get("properties", {}).items():
        steps = (*path, member)
        yield steps, schema.get("type") == "boolean"
        if "$ref" in schema:
            yield from _capabilities(definitions, definition_name(schema["$ref"]), steps)


def _unclear_methods(
    used: Mapping[str, Sequence[Use]], definitions: Json, place: str
) -> Iterator[Problem]:
    if not union_leaves(definitions, "ClientRequest"):
        hint = "is this the schema.json of an MCP revision?"
        pointer = "/$defs/ClientRequest"
        yield Problem("no-message-unions", "ClientRequest has no arms", place, pointer, hint)
    for union, _, _ in MESSAGE_UNIONS:
        for message in union_leaves(definitions, union):
            if method_constant(definitions.get(message, {})) is None:
                pointer = jsonpointer.join("$defs", message)
                hint = "give it a required member `method` with a constant"
                yield Problem(
                    "bad-message", f"{message} of {union} has no method", place, pointer, hint
                )
    for method, method_uses in used.items():
        why = _unlike(method_uses, definitions)
        types = list(dict.fromkeys(use.message for use in method_uses))
        for name in types if why is not None else ():
            message = f"{' and '.join(types)} are both messages of {method!r:.80}, but {why}"
            hint = "give one of them another method, or both the same params"
            yield Problem("bad-message", message, place, jsonpointer.join("$defs", name), hint)
        name = _choice_name(method_uses[0].message)
        params = _params_of(definitions, (use.message for use in method_uses))
        if len(params) > 1 and name in definitions:
            message = f"the params of {method!r:.80} would be called {name}, like another type"
            hint = "rename that type in the schema"
            yield Problem("name-collision", message, place, jsonpointer.join("$defs", name), hint)


def _endless_capabilities(definitions: Json, place: str) -> Iterator[Problem]:
    """Yield a problem for each type of capabilities with endless or too many paths."""
    members = {name: schema.get("properties", {}) for name, schema in definitions.items()}
    inner = {
        name: [
            definition_name(member["$ref"]) for member in members[name].values() if "$ref" in member
        ]
        for name in members
    }
    hint = "let it be any object: the members of a capability are capabilities, too"
    for owner in (f"{role.capitalize()}Capabilities" for role in ROLES):
        within = {name: inner[name] for name in graph.find_reachable(inner, [owner])}
        circular = graph.circular(within)
        for name in sorted(circular):
            message = f"{name} of {owner} contains itself as a capability"
            yield Problem("bad-message", message, place, jsonpointer.join("$defs", name), hint)
        paths: dict[str, int] = {}
        for name in graph.dependencies_first(within) if not circular else ():
            paths[name] = len(members[name]) + sum(
                paths[member_name] for member_name in within[name]
            )
        if paths.get(owner, 0) > _MOST_CAPABILITIES:
            message = f"{owner} has more than {_MOST_CAPABILITIES} capabilities"
            yield Problem("bad-message", message, place, jsonpointer.join("$defs", owner), hint)


def _unlike(method_uses: Sequence[Use], definitions: Json) -> str | None:
    """Return the reason why the messages of a method cannot be alternatives, or None."""
    messages = {use.message for use in method_uses}
    if len(messages) < 2:
        return None
    if len({use.kind == "notification" for use in method_uses}) > 1:
        return "one is a notification"
    schemas: list[Json] = [
        definitions[message]["properties"].get("params", {}) for message in sorted(messages)
    ]
    if all(schema == schemas[0] for schema in schemas):
        return None
    if not all("$ref" in schema for schema in schemas):
        return "their params have no named types, and cannot be distinguished"
    if len({use.sender for use in method_uses}) > 1:
        return "the params depend on the sender"
    return None


def _incomplete(method: DerivedMethod, definitions: Json, place: str) -> Iterator[Problem]:
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
