"""The IR of methods, capabilities, errors and rules, from a normalised schema and facts.

Everything in the schema is derived and compared with the facts; a method without facts is derived
from the schema alone and reported.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from mcp_protogen.base import jsonpointer, names
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Problem
from mcp_protogen.pipeline.derive import recursion
from mcp_protogen.pipeline.derive.places import only_list
from mcp_protogen.pipeline.derive.skeleton import DerivedMethod, Skeleton
from mcp_protogen.pipeline.derive.types import Context
from mcp_protogen.pipeline.inputs.facts import Facts, conditions
from mcp_protogen.pipeline.inputs.todo import CHOICES
from mcp_protogen.pipeline.ir import (
    OTHER,
    ROLES,
    CachingIR,
    CapabilityIR,
    ErrorIR,
    FieldIR,
    HeaderFieldIR,
    LeniencyIR,
    ListOf,
    MetaKeyIR,
    MethodErrorIR,
    MethodIR,
    ObjectIR,
    Ref,
    ReportIR,
    RequirementIR,
    Role,
    RulesIR,
    StreamPlaceIR,
    TypeExpr,
    TypeIR,
    UnionIR,
)

Json = dict[str, Any]


def rules(context: Context) -> RulesIR:
    """Return the rules for sending messages of the revision."""
    facts: Json = context.facts.document["rules"]
    result_type: Json = facts.get("result_type", {})
    headers: Json = context.facts.document.get("headers", {})
    sent: Json = headers.get("request", {})
    answered: Json = headers.get("response", {})
    return RulesIR(
        receive_batches=facts["batching"]["receive"],
        send_batches=facts["batching"]["send"],
        error_id_optional=facts["error_id_optional"]["value"],
        server_requests=facts["server_requests"]["value"],
        polling=facts.get("polling", {}).get("value", False),
        unnamed_over_http="mcp-session-id" in sent and "mcp-protocol-version" not in sent,
        bad_arguments=facts.get("bad_arguments", {}).get("value", "error"),
        resource_not_found=facts.get("resource_not_found", {}).get("value", -32002),
        result_type_values=tuple(result_type.get("values", ())),
        leniency=tuple(_leniency(context)),
        headers=tuple(_header_fields(sent, ("params", "_meta"))),
        answer_headers=tuple(_header_fields(answered, ("_meta",))),
        error_headers=tuple(
            (header, fact["value"]) for header, fact in sorted(answered.items()) if "value" in fact
        ),
    )


def _header_fields(headers: Json, meta: tuple[str, ...]) -> Iterator[HeaderFieldIR]:
    """Yield the header fields that repeat a part of any message; `meta` leads to its `_meta`."""
    for header, fact in sorted(headers.items()):
        match fact.get("repeats"):
            case {"meta": key, "policy": policy}:
                yield HeaderFieldIR(header, (*meta, key), policy)
            case {"member": member, "policy": policy}:
                yield HeaderFieldIR(header, (member,), policy)
            case {"policy": policy}:
                yield HeaderFieldIR(header, ("params", "arguments"), policy)
            case _:
                pass


_LENIENT: Mapping[str, Literal["absent", "negative"]] = {
    "absent_reads_as": "absent",
    "negative_reads_as": "negative",
}


def _leniency(context: Context) -> Iterator[LeniencyIR]:
    facts: Json = context.facts.document.get("leniency", {})
    for fact in facts.values():
        _, _, member = fact["where"].partition(".")
        yield LeniencyIR(member, _LENIENT[fact["rule"]], fact["value"])


def capabilities(shown: Skeleton, context: Context) -> tuple[CapabilityIR, ...]:
    """Return every capability path of both roles, in path order."""
    return tuple(
        _capability(role, path, flag, context)
        for role in ROLES
        for path, flag in sorted(shown.capabilities[role].items())
    )


def _capability(role: Role, path: tuple[str, ...], flag: bool, context: Context) -> CapabilityIR:
    fact: Json = context.facts.document["capabilities"][role].get(".".join(path), {})
    return CapabilityIR(
        constant=names.constant(role, *path),
        role=role,
        path=path,
        flag=flag,
        implied=fact.get("implied", False),
        source=fact.get("source", ""),
        doc=context.descriptions.capability(role, path),
    )


def errors(definitions: Json, context: Context) -> tuple[ErrorIR, ...]:
    """Return the error codes in descending order, so that those of JSON-RPC come first."""
    facts: Json = context.facts.document["errors"]
    return tuple(
        ErrorIR(
            code=int(code),
            name=names.constant(fact["name"]),
            data=names.class_name(fact["data"]) if fact.get("data") in definitions else None,
            emit=fact["emit"],
            source=fact["source"],
            doc=context.descriptions.error(fact["name"]),
            status=fact.get("http_status") or 200,
            retry=(fact["retry"]["member"], fact["retry"]["unit"]) if fact.get("retry") else None,
            only_with=fact.get("only_with") or "",
            outdates=_methods_to_fetch(fact.get("outdates") or {}),
        )
        for code, fact in sorted(facts.items(), key=lambda item: -int(item[0]))
    )


def _methods_to_fetch(fact: Json) -> tuple[str, ...] | str:
    return fact["member"] if "member" in fact else tuple(fact.get("methods", ()))


def caching(context: Context) -> CachingIR:
    """Return the rules of the facts for a client's cache."""
    fact: Json = context.facts.document.get("caching") or {}
    tag, known, stale = (fact.get(name, "") for name in ("tag", "known", "stale"))
    has_tags = bool(tag and known)
    return CachingIR(
        tag if has_tags else "", known if has_tags else "", stale, fact.get("unit") == "list"
    )


def meta_keys(context: Context) -> tuple[MetaKeyIR, ...]:
    """Return the defined keys of `_meta`, by name."""
    facts: Json = context.facts.document["meta_keys"]
    return tuple(
        MetaKeyIR(
            key=key,
            constant=names.constant("meta", key.rpartition("/")[2]),
            on=tuple(fact["on"]),
            type=fact["type"],
            required=fact["required"],
            source=fact["source"],
            of=tuple(fact.get("of", ())),
            varies=fact.get("varies", False),
            gates=fact.get("gates", ""),
        )
        for key, fact in sorted(facts.items())
    )


def methods(shown: Skeleton, types: Mapping[str, TypeIR], context: Context) -> tuple[MethodIR, ...]:
    """Return all methods of the schema, by wire name; `types` are the types of this schema."""
    facts = [method for _, method in sorted(shown.methods.items())]
    params = {method.method: _params(method, context.facts, shown.definitions) for method in facts}
    return tuple(
        _method(method, names.class_name(params[method.method]), shown, types, context)
        for method in facts
    )


def _method(
    schema: DerivedMethod,
    params: names.ClassName,
    shown: Skeleton,
    types: Mapping[str, TypeIR],
    context: Context,
) -> MethodIR:
    fact: Json = context.facts.methods.get(schema.method) or {}
    stem = names.stem(schema.message)
    deprecated = fact.get("deprecated")
    variants: Json = fact.get("variants") or {}
    next_cursor = context.facts.path_of("next_cursor")
    traits = tuple(stated_traits(fact, derived_traits(schema, shown.definitions, next_cursor)))
    stated = [name for name in fact.get("results", schema.results) if name in shown.definitions]
    results = _results(stated or schema.results, traits, types)
    page = types.get(results[0]) if results else None
    listed = only_list(page)
    return MethodIR(
        method=schema.method,
        kind=schema.kind,
        stem=stem,
        constant=names.Constant(stem.upper()),
        message=names.class_name(schema.message),
        senders=schema.senders,
        params=params,
        params_required=schema.params_required,
        params_given=_needs_params(params, schema, types),
        order=tuple(fact.get("order") or ()),
        variants=tuple((names.StubName(name), of) for name, of in variants.items()),
        results=tuple(map(names.class_name, results)),
        requires=tuple(_requirements(schema, fact, shown)),
        phase=fact.get("phase", "any"),
        traits=traits,
        list_member=listed.wire if listed else "",
        items=_items(listed, page, next_cursor) if "paginated" in traits else None,
        since=fact.get("since", context.facts.revision),
        removed=fact.get("removed"),
        deprecated=deprecated,
        source=fact.get("source", ""),
        doc=context.descriptions.method(schema.method, deprecated=deprecated is not None),
        headers=tuple(headers_in(fact)),
        errors=tuple(_errors(fact)),
        known_as=context.facts.first_names.get(schema.method, ""),
        stream=stream_place(fact),
        reports=ReportIR(**fact["reports"]) if fact.get("reports") else None,
    )


def stream_place(fact: Json) -> StreamPlaceIR | None:
    """Return the place on a stream in the facts of a notification, if it has one."""
    place: Json = fact.get("stream") or {}
    # Facts that the compared schema contradicts are left out, such as a request that it lacks.
    if "request" not in place:
        return None
    return StreamPlaceIR(
        request=place["request"],
        order=place.get("order", ""),
        member=place.get("member", ""),
        every_ms=place.get("every_ms", 0),
    )


def _errors(fact: Json) -> Iterator[MethodErrorIR]:
    errors: Json = fact.get("errors") or {}
    for code, case in sorted(errors.items(), key=lambda item: -int(item[0])):
        yield MethodErrorIR(int(code), case["when"], case["level"])


def headers_in(fact: Json) -> Iterator[HeaderFieldIR]:
    """Yield the header fields that repeat members of the params, by the facts of a method."""
    headers: Json = fact.get("headers") or {}
    for header, repeated in sorted(headers.items()):
        yield HeaderFieldIR(header, ("params", repeated["member"]), repeated["policy"])


def stated_traits(fact: Json, otherwise: Iterable[str] = ()) -> Iterable[str]:
    """Return the traits in the facts of a method; while one is undecided, those without it."""
    stated: Any = fact.get("traits", otherwise)
    traits: Iterable[str] = stated[CHOICES][0] if is_object(stated) else stated
    return traits


def _results(
    stated: Iterable[str], traits: Sequence[str], types: Mapping[str, TypeIR]
) -> Sequence[str]:
    """Return the alternative classes of all results, each once."""
    results = list(dict.fromkeys(arm for name in stated for arm in _alternatives(name, types)))
    if "may_require_input" in traits:
        # The runtime knows the result that asks by its place.
        results.sort(key=lambda name: _asks(types.get(name)))
    return results


def _asks(type_: TypeIR | None) -> bool:
    return isinstance(type_, ObjectIR) and any(
        field.wire == "requestState" for field in type_.fields
    )


def _alternatives(name: str, types: Mapping[str, TypeIR]) -> Iterator[str]:
    for type_ in recursion.arms_within(name, types, _union_members):
        arms = type_.arms if isinstance(type_, UnionIR) else ()
        if not arms or not all(isinstance(arm, Ref) for arm in arms):
            yield str(type_.name)


def _union_members(type_: TypeIR) -> list[str]:
    arms = type_.arms if isinstance(type_, UnionIR) else ()
    return [arm.name for arm in arms if isinstance(arm, Ref)]


def _params(schema: DerivedMethod, facts: Facts, definitions: Json) -> str:
    """Return the type of the params; empty without a usable one."""
    fact: Json = facts.methods.get(schema.method) or {}
    names = (schema.params, fact.get("params"), _plain_params(schema))
    return next((name for name in names if name in definitions), "")


def _plain_params(schema: DerivedMethod) -> str:
    return "NotificationParams" if schema.kind == "notification" else "RequestParams"


def find_without_params(shown: Skeleton, facts: Facts, place: str) -> Iterator[Problem]:
    """Yield a problem for each method whose params have no type; `place` names the file."""
    for schema in shown.methods.values():
        if not _params(schema, facts, shown.definitions):
            plain = _plain_params(schema)
            message = (
                f"{schema.message} has no params, and the schema has no {plain} to use instead"
            )
            hint = f"give it params, or define {plain}"
            pointer = jsonpointer.join("$defs", schema.message)
            yield Problem("bad-message", message, place, pointer, hint)


def _needs_params(params: str, schema: DerivedMethod, types: Mapping[str, TypeIR]) -> bool:
    """Return whether a caller must give params, because a required member has no usual value."""
    if not schema.params_required:
        return False
    type_ = types.get(params)
    return not isinstance(type_, ObjectIR) or any(
        field.required and field.default is None for field in type_.fields
    )


def _items(listed: FieldIR | None, page: TypeIR | None, next_cursor: str) -> TypeExpr | None:
    """Return the type of the items of all pages; None without a list or a next page."""
    fields = page.fields if isinstance(page, ObjectIR) else ()
    goes_on = any(member.wire == next_cursor for member in fields)
    return listed.type.item if goes_on and listed and isinstance(listed.type, ListOf) else None


class ShownTrait(NamedTuple):
    """A trait that the members of a type show; it is uncertain if the type lacks something."""

    trait: str
    owner: str
    lacks: str


def derived_traits(schema: DerivedMethod, definitions: Json, next_cursor: str) -> list[str]:
    """Return the traits of a method that its params and results show for sure."""
    shown = find_traits(schema, definitions, next_cursor)
    return sorted({trait for trait, _, lacks in shown if not lacks})


def find_traits(schema: DerivedMethod, definitions: Json, next_cursor: str) -> Iterator[ShownTrait]:
    """Yield each trait with the params or result that has its member, and what speaks against it.

    The same member may mean another thing, such as the `ttlMs` of a task.
    """
    params = schema.params or ""
    members = _members(params, definitions)
    if "inputResponses" in members:
        yield ShownTrait("may_require_input", params, _find_lack("requestState", members))
    if "task" in members:
        lacks = "" if "$ref" in members["task"] else "object in task"
        yield ShownTrait("task_augmentable", params, lacks)
    for name in schema.results:
        members = _members(name, definitions)
        if "ttlMs" in members:
            yield ShownTrait("cacheable", name, _find_lack("cacheScope", members))
        if next_cursor in members:
            yield ShownTrait("paginated", name, "")


def _members(name: str, definitions: Json) -> Json:
    members: Json = definitions.get(name, {}).get("properties", {})
    return members


def _find_lack(member: str, members: Json) -> str:
    return "" if member in members else member


def _requirements(schema: DerivedMethod, fact: Json, shown: Skeleton) -> Iterator[RequirementIR]:
    for key, gate in fact.get("requires", {}).items():
        party, _, dotted = key.partition(".")
        path = tuple(dotted.split("."))
        for sender in schema.senders:
            role = _role(party, sender)
            # Inherited facts may name a capability that the schema no longer has.
            if path not in shown.capabilities[role]:
                continue
            yield RequirementIR(
                capability=names.constant(role, *path),
                role=role,
                path=path,
                level=gate["level"],
                sender=sender,
                when=conditions(gate.get("when", ())),
                source=gate["source"],
            )


def _role(party: str, sender: Role) -> Role:
    match party:
        case "sender":
            return sender
        case "receiver":
            return OTHER[sender]
        case "client":
            return "client"
        case _:
            return "server"
