"""The input of templates: the IR, and filters for longer phrases."""

from collections.abc import Callable, Collection, Container, Mapping
from dataclasses import replace
from typing import Any, TypedDict, cast

from mcp_protogen.base.graph import reach
from mcp_protogen.base.names import pascal
from mcp_protogen.pipeline.derive import recursion
from mcp_protogen.pipeline.derive.calls import CallSignature, is_needed, is_tool_call, signatures_of
from mcp_protogen.pipeline.derive.introductions import introduction_types
from mcp_protogen.pipeline.derive.module_names import (
    CAPABILITIES_MODULE,
    METHODS_MODULE,
    handler,
    is_list_change,
    iterator,
    publisher,
    sender,
)
from mcp_protogen.pipeline.emit import rows
from mcp_protogen.pipeline.emit.annotations import argument_annotation, qualified_annotation
from mcp_protogen.pipeline.emit.method_texts import call_text, documentation, handling, purpose
from mcp_protogen.pipeline.emit.template_contexts import (
    Call,
    ExtensionMessages,
    Messages,
    RevisionMessages,
    TranslationContext,
    TranslationTable,
)
from mcp_protogen.pipeline.emit.text import literal, tuple_of, union_of
from mcp_protogen.pipeline.emit.wrapping import FixedText
from mcp_protogen.pipeline.extension_ir import ExtensionIR
from mcp_protogen.pipeline.ir import (
    Anything,
    ConditionIR,
    FieldIR,
    Filled,
    HeaderFieldIR,
    MethodIR,
    ObjectIR,
    OneOf,
    RequirementIR,
    RevisionIR,
    Scalar,
    StreamPlaceIR,
    TypeIR,
)
from mcp_protogen.pipeline.plans.tables import PairTables
from mcp_protogen.runtime.core.forms import FORM
from mcp_protogen.runtime.translation.plans import Direction


def types(method: MethodIR) -> tuple[str, ...]:
    """Return the types of the params and results, the usual result first."""
    return tuple(f"m.{name}" for name in (method.params, *method.results))


def result(method: MethodIR) -> str:
    """Return the annotation of a result."""
    return union_of(types(method)[1:])


def plain_result(method: MethodIR) -> str:
    """Return the annotation of the final result, after all questions, or of a page."""
    results = types(method)[1:]
    if "paginated" in method.traits:
        return results[0]
    asks = {"may_require_input", "task_augmentable"} & {*method.traits}
    return union_of(results[:1] if asks else results)


def params_argument(method: MethodIR) -> str:
    """Return the annotation, and the default, of the params that a sender passes."""
    return f"m.{method.params}" if method.params_given else f"m.{method.params} | None = None"


def item(method: MethodIR) -> str:
    """Return the annotation of one item of a paginated list."""
    assert method.items is not None
    return qualified_annotation(method.items)


def calls(ir: RevisionIR) -> Mapping[str, tuple[Call, ...]]:
    """Return the calls of a revision, by method."""
    types = {str(type_.name): type_ for type_ in ir.types}
    return {
        method.method: tuple(_call(signature, method, types) for signature in signatures)
        for method, signatures in zip(ir.methods, signatures_of(ir), strict=True)
    }


def _call(signature: CallSignature, method: MethodIR, types: Mapping[str, TypeIR]) -> Call:
    members = (*signature.positional, *signature.keywords)
    star = ("*",) if signature.keywords else ()
    nullable = tuple(field for field in members if _may_be_null(field))
    # If the only member is given, the params are given.
    alone = len(members) == 1 and not method.params_given
    arguments = [
        f"{field.name}={field.name if alone else _argument(field)}"
        for field in members
        if field not in nullable
    ]
    if nullable:
        arguments.append(
            f"**present({', '.join(f'{field.name}={field.name}' for field in nullable)})"
        )
    clashes = any(field.name == "params" for field in members)
    return Call(
        name=signature.name,
        parameters=(
            *map(_parameter, signature.positional),
            *star,
            *map(_parameter, signature.keywords),
        ),
        params=f"m.{signature.params}({', '.join(arguments)})",
        given="" if method.params_given or clashes else " or ".join(map(_is_given, members)),
        once=signature.once,
        is_tool_call=not signature.once and is_tool_call(method, types),
        asks_form={"message", FORM} <= {field.wire for field in members},
        doc=call_text(signature, method, types),
    )


def _may_be_null(field: FieldIR) -> bool:
    """Return whether None in an optional member means null, and not absence."""
    return not field.required and (field.nullable or isinstance(field.type, Anything))


def _parameter(field: FieldIR) -> str:
    if is_needed(field):
        return f"{field.name}: {argument_annotation(field.type)}"
    hint = argument_annotation(OneOf((field.type, Scalar("null"))))
    if _may_be_null(field):
        return f"{field.name}: {hint} | Omitted = OMITTED"
    return f"{field.name}: {hint} = None"


def _argument(field: FieldIR) -> str:
    """Return the expression for a member; None stands for the usual value of a required one."""
    if is_needed(field) or not field.required:
        return str(field.name)
    usual = "SUPPLIED" if isinstance(field.default, Filled) else literal(field.default)
    return f"{usual} if {field.name} is None else {field.name}"


def _is_given(field: FieldIR) -> str:
    return f"{field.name} is not {'OMITTED' if _may_be_null(field) else 'None'}"


def spec_class(method: MethodIR) -> str:
    """Return the class of a method's entry in the table."""
    return "NotificationSpec" if method.kind == "notification" else "RequestSpec"


def spec_type(method: MethodIR) -> str:
    """Return the type of a method's entry in the table."""
    results = "" if method.kind == "notification" else f", {plain_result(method)}, {result(method)}"
    return f"{spec_class(method)}[m.{method.params}{results}]"


def condition(condition: ConditionIR) -> str:
    """Return the expression that constructs a condition."""
    arguments = [literal(condition.member)]
    if condition.one_of is not None:
        arguments.append(f"one_of={literal(condition.one_of)}")
    if condition.or_absent:
        arguments.append("or_absent=True")
    return f"Condition({', '.join(arguments)})"


def requirement(need: RequirementIR) -> str:
    """Return the expression that constructs a requirement."""
    arguments = [need.capability, literal(need.level), f"sender={literal(need.sender)}"]
    if need.when:
        arguments.append(f"when={tuple_of(map(condition, need.when))}")
    return f"Requirement({', '.join(arguments)}, source={literal(need.source)})"


def header_field(repeated: HeaderFieldIR) -> str:
    """Return the expression that constructs a header field which repeats a part of a message."""
    policy = "" if repeated.policy == "both" else f", {literal(repeated.policy)}"
    return f"HeaderField({literal(repeated.header)}, {literal(repeated.path)}{policy})"


def stream_place(place: StreamPlaceIR) -> str:
    """Return the expression that constructs the place of a notification on a stream."""
    given = {"order": place.order, "member": place.member, "every": place.every_ms / 1000}
    arguments = (f", {name}={literal(value)}" for name, value in given.items() if value)
    return f"StreamPlace({literal(place.request)}{''.join(arguments)})"


def entry_needs(ir: RevisionIR) -> str:
    """Return the expression that constructs the key with the needs of listed tools."""
    assert ir.gate is not None
    implied = [
        f"c.{capability.constant}"
        for capability in ir.capabilities
        if capability.implied and capability.role == "client"
    ]
    return f"EntryNeeds({literal(ir.gate.key)}, {tuple_of(implied)})"


def parts(ir: RevisionIR) -> str:
    """Return the expression that constructs the notification with parts of results."""
    method = ir.parts
    assert method is not None and method.reports is not None
    token, number = method.reports.token, method.reports.number
    of = {message for key in ir.meta_keys if key.key == token for message in key.of}
    requests = sorted(
        request.method
        for request in ir.methods
        if request.kind == "request"
        and "client" in request.senders
        and (not of or request.message in of)
    )
    named = ", ".join(map(literal, (method.method, token, number)))
    return f"Parts({named}, frozenset({literal(tuple(requests))}))"


def cache_rules(ir: RevisionIR) -> str:
    """Return the expression that constructs the rules of a client's cache."""
    given = {
        "tag": ir.caching.tag,
        "known": ir.caching.known,
        "stale": ir.caching.stale,
        "outdated": {error.code: error.outdates for error in ir.errors if error.outdates},
        "whole_lists": ir.caching.whole_lists,
    }
    named = (f"{name}={literal(value)}" for name, value in given.items() if value)
    return f"CacheRules({', '.join(named)})"


def revision_messages(ir: RevisionIR) -> RevisionMessages:
    """Return the messages of a revision for templates."""
    names = {str(type_.name) for type_ in ir.types}
    classes = {str(type_.name) for type_ in ir.types if isinstance(type_, ObjectIR)}
    messages = _messages(ir)
    asks_in_results = names >= {"InputRequest", "InputResponse"} and any(
        method.kind == "embedded" for method in messages["server_sends"]
    )
    return {
        **messages,
        **_self_descriptions(introduction_types(ir), classes),
        "server_asks_in_results": "InputRequiredResult" in classes and asks_in_results,
    }


def _messages(ir: RevisionIR) -> Messages:
    methods, called = ir.methods, calls(ir)
    client_sends = [method for method in methods if "client" in method.senders]
    client_calls = [method for method in client_sends if method.method not in SENT_BY_RUNTIME]
    server_sends = [method for method in methods if "server" in method.senders]
    return {
        "ir": ir,
        "methods": methods,
        "calls": called,
        "client_calls": client_calls,
        "client_imports": _imports(called, client_calls),
        "server_sends": server_sends,
        "server_asks": any(method.kind != "notification" for method in server_sends),
        "server_imports": _imports(called, server_sends),
        "server_handles": [m for m in client_sends if m.method not in ANSWERED_BY_RUNTIME],
        "server_publishes": {
            publisher(m): m.known_as or m.method for m in server_sends if is_list_change(m)
        },
        "has_conditions": any(need.when for method in methods for need in method.requires),
        "capabilities_exported": sorted(
            {str(capability.constant) for capability in ir.capabilities} | CAPABILITIES_MODULE
        ),
        "methods_exported": sorted(
            {str(method.constant) for method in methods}
            | {str(error.name) for error in ir.errors}
            | {str(key.constant) for key in ir.meta_keys}
            | METHODS_MODULE
        ),
    }


def extension_messages(extension: ExtensionIR) -> ExtensionMessages:
    """Return the messages of an extension for templates."""
    ir = extension.ir
    # The params of a call may be a type of the revision.
    messages = _messages(replace(ir, types=(*ir.types, *extension.core.types)))
    prefix = pascal(extension.name)
    classes = {"client": [f"{prefix}Client"], "server": [f"{prefix}Server", f"{prefix}Session"]}
    return {
        **messages,
        "extension": extension,
        "class_name": prefix,
        "server_answers": any(m.kind != "notification" for m in messages["server_handles"]),
        "role_classes": {role: classes[role] for role in extension.roles},
        "exported": ["EXTENSION", "capabilities", "methods", "models"],
        "methods_exported": sorted(
            {"EXTENSION", "ERRORS", "NOTIFICATIONS", "REQUESTS"}
            | ({"DOCUMENTS"} if extension.documents else set[str]())
            | {str(method.constant) for method in ir.methods}
            | {str(error.name) for error in ir.errors}
        ),
        "capabilities_exported": sorted(
            {
                "CAPABILITIES",
                "REQUIREMENTS",
                *(["VERSIONS"] if extension.version else ()),
                *(str(capability.constant) for capability in ir.capabilities),
            }
        ),
        "uses_models": bool(
            ir.methods
            or extension.claims
            or extension.members
            or any(error.data for error in ir.errors)
            or any(document.type for document in extension.documents)
        ),
    }


def core_modules(
    extension: ExtensionIR, core: Mapping[str, tuple[TypeIR, ...]]
) -> Mapping[str, list[str]]:
    """Return the types of the revision in calls of the extension, by module.

    `core` are the modules of the revision's models.
    """
    own = recursion.graph_of(extension.ir.types)
    called = (name for method in extension.ir.methods for name in (method.params, *method.results))
    core_names = {*reach(map(str, called), lambda name: own.get(name, ()))}
    core_names |= {str(error.data) for error in extension.ir.errors if error.data}
    modules = {
        module: sorted(str(type_.name) for type_ in core[module] if str(type_.name) in core_names)
        for module in sorted(core)
    }
    return {module: names for module, names in modules.items() if names}


def _imports(
    called: Mapping[str, tuple[Call, ...]], methods: Collection[MethodIR]
) -> dict[str, list[str]]:
    """Return the names that the stubs of some methods need, by module."""
    calls = [call for method in methods for call in called[method.method]]
    text = " ".join(
        (
            *(parameter for call in calls for parameter in call.parameters),
            *(c.params for c in calls),
        )
    )
    pages, tools = any(method.items for method in methods), any(call.is_tool_call for call in calls)
    asks = any(method.kind != "notification" for method in methods)
    forms = any(call.asks_form for call in calls)
    needed = {
        "typing": ["Literal"] * (tools or "Literal[" in text)
        + ["TypeVar"] * (tools or forms)
        + ["overload"] * tools
        + ["Unpack"] * asks,
        "collections.abc": ["AsyncIterator"] * pages,
        "client.base": ["ReadAs", "reader"] * tools,
        "core.options": ["CallOptions"] * asks,
        "core.models.base": ["SUPPLIED"] * ("SUPPLIED" in text),
        "server.answers": ["Answer", "Form"] * forms,
        "server.base": ["ask_form", "is_question"] * forms,
        "rpc.peer": ["all_items"] * pages + ["OMITTED", "Omitted", "present"] * ("OMITTED" in text),
    }
    return {module: names for module, names in needed.items() if names}


def pair_context(pair: PairTables, runtime: str, subject: str = "MCP") -> TranslationContext:
    """Return the context for the template of a pair of revisions, or of versions of a subject."""
    classes = sorted({"Plan", *rows.classes_in((pair.up, pair.down))})
    return {
        "pair": pair,
        "subject": subject,
        "imports": f"from {runtime}.translation.plans import {', '.join(classes)}",
        "tables": [_table("UP", pair.up), _table("DOWN", pair.down)],
    }


def _table(name: str, direction: Direction) -> TranslationTable:
    """Return the text of one direction: its plans and the rest."""
    full = replace(direction, plans=cast(Any, FixedText(f"_{name}")))
    way = f"From {direction.source} to {direction.destination}"
    return TranslationTable(
        plans=rows.lay_out(direction.plans, f"_{name}: Final[Mapping[str, Plan]] = "),
        direction=rows.lay_out(full, f"{name}: Final = "),
        doc=f"{way}; types without a plan stay unchanged.",
    )


class _SelfDescriptions(TypedDict):
    client_capabilities: str
    implementation: str
    server_capabilities: str


def _self_descriptions(
    types: Mapping[str, str], classes: Container[str | None]
) -> _SelfDescriptions:
    """Return the types of the name and capabilities of each side; a schema may lack them."""

    def annotation_of(name: str) -> str:
        return f"m.{types[name]}" if types.get(name) in classes else "WireModel"

    return {
        "client_capabilities": annotation_of("ClientCapabilities"),
        "implementation": annotation_of("Implementation"),
        "server_capabilities": annotation_of("ServerCapabilities"),
    }


# The runtime negotiates the revision; users do not send or answer these.
SENT_BY_RUNTIME = frozenset({"initialize", "notifications/initialized"})
ANSWERED_BY_RUNTIME = frozenset({"initialize"})


FILTERS: Mapping[str, Callable[..., str | tuple[str, ...]]] = {
    "cache_rules": cache_rules,
    "condition": condition,
    "documentation": documentation,
    "entry_needs": entry_needs,
    "handler": handler,
    "handling": handling,
    "header_field": header_field,
    "item": item,
    "iterator": iterator,
    "params_argument": params_argument,
    "parts": parts,
    "plain_result": plain_result,
    "purpose": purpose,
    "requirement": requirement,
    "result": result,
    "sender": sender,
    "spec_class": spec_class,
    "spec_type": spec_type,
    "stream_place": stream_place,
    "types": types,
}
"""The filters of templates for methods and conditions."""
