"""The comparison of facts with the schema: everything that can be derived must agree.

A contradiction is an error if the revision has its own facts. With inherited facts it is a warning,
and the contradicted facts are left out.
"""

import copy
import json
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.problems import Level, Problem
from mcp_protogen.pipeline.derive import fillings
from mcp_protogen.pipeline.derive.skeleton import DerivedMethod, Skeleton
from mcp_protogen.pipeline.derive.unread_facts import Finding, find_unread
from mcp_protogen.pipeline.inputs.facts import Facts, era_of
from mcp_protogen.pipeline.ir import ROLES
from mcp_protogen.pipeline.normalise.references import PREFIX, arms_within

Json = dict[str, Any]


def compare(
    shown: Skeleton, facts: Facts, place: str, inherited_hint: str = ""
) -> tuple[Problem, ...]:
    """Return all contradictions between facts and a normalised schema, and all missing facts.

    Inherited facts have no file to correct; `inherited_hint` is for them.
    """
    return problems_of(_findings(shown, facts), facts, place, inherited_hint)


def problems_of(
    findings: Iterable[Finding], facts: Facts, place: str, inherited_hint: str
) -> tuple[Problem, ...]:
    """Return findings as problems: errors, or warnings for inherited facts."""
    level = Level.WARNING if facts.inherited else Level.ERROR
    instead = inherited_hint if facts.inherited else ""
    return tuple(
        Problem(code, message, place, pointer, instead or hint, level)
        for code, message, pointer, hint in findings
    )


def drop_facts(facts: Facts, problems: Iterable[Problem]) -> Facts:
    """Return `facts` without those at the places of the problems."""
    document = copy.deepcopy(facts.document)
    # From the end, because removing an item of a list moves those after it.
    for pointer in sorted({problem.pointer for problem in problems}, key=_order, reverse=True):
        jsonpointer.remove(document, pointer)
    return replace(facts, document=document)


def _order(pointer: str) -> list[tuple[int, str]]:
    return [(int(part) if part.isdecimal() else 0, part) for part in jsonpointer.split(pointer)]


def _findings(shown: Skeleton, facts: Facts) -> Iterator[Finding]:
    yield from _opening(shown.definitions, facts)
    yield from _methods(shown, facts)
    yield from _capabilities(shown, facts)
    yield from _headers(facts)
    yield from _types(shown, facts)
    yield from _streams(shown, facts)
    yield from _delays(shown.definitions, facts)
    yield from _duties(shown.definitions, facts)
    yield from _stray_messages(shown)
    yield from find_unread(shown, facts)


def _opening(definitions: Json, facts: Facts) -> Iterator[Finding]:
    era = era_of({"$defs": definitions})
    if era not in (None, facts.era):
        message = f"by the methods of the schema, sessions open as in the {era} era"
        yield "facts-disagree", message, "/lifecycle/era", "one of the two is wrong"
    result_type: Json = facts.document.get("rules", {}).get("result_type", {})
    if result_type:
        path = f"Result.{result_type['member']}"
        yield from _member(definitions, path, "/rules/result_type")


def _methods(shown: Skeleton, facts: Facts) -> Iterator[Finding]:
    for method in sorted(facts.methods.keys() - shown.methods.keys()):
        pointer = jsonpointer.join("methods", method)
        message = f"the schema has no method {method}"
        yield "facts-disagree", message, pointer, "remove the entry with null"
    for method, schema in sorted(shown.methods.items()):
        pointer = jsonpointer.join("methods", method)
        fact = facts.methods.get(method)
        if fact is None:
            hint = "direction, params and result are taken from the schema; add requires and traits"
            yield "derived-facts", f"{method} has no facts", pointer, hint
            continue
        yield from _method(schema, fact, pointer, facts)
        yield from _conditions(fact, f"{pointer}/requires", shown.definitions)
        yield from _variants(fact, f"{pointer}/variants", shown.definitions)
        yield from _headers_of_method(fact, f"{pointer}/headers", shown.definitions, facts)


def _method(schema: DerivedMethod, fact: Json, pointer: str, facts: Facts) -> Iterator[Finding]:
    derived = {
        "message": schema.message,
        "kind": schema.kind,
        "senders": sorted(schema.senders),
        "params": schema.params or fact["params"],
        "params_required": schema.params_required,
    }
    for key, value in derived.items():
        fact_value = sorted(fact[key]) if key == "senders" else fact[key]
        if fact_value != value:
            message = f"{key} is {value!r} in the schema, {fact_value!r} in the facts"
            yield "facts-disagree", message, f"{pointer}/{key}", "one of the two is wrong"
    for result in schema.results:
        if result not in fact.get("results", ()):
            message = f"the schema pairs {schema.method} with {result}, the facts do not"
            yield "facts-disagree", message, f"{pointer}/results", "add it to results"
    for gate in fact.get("requires", {}):
        party, _, path = gate.partition(".")
        roles = ROLES if party in ("sender", "receiver") else (party,)
        if any(path not in facts.document["capabilities"].get(role, {}) for role in roles):
            place = f"{pointer}{jsonpointer.join('requires', gate)}"
            yield "facts-disagree", f"{gate} is not a capability", place, "see capabilities"


def _conditions(fact: Json, pointer: str, definitions: Json) -> Iterator[Finding]:
    """Yield a finding for each gate with a condition on a value that its member never has."""
    arms = _arms(fact["params"], definitions).values()
    for gate, demand in fact.get("requires", {}).items():
        for case in demand.get("when", ()):
            named = [arm.get("properties", {}).get(case["member"]) for arm in arms]
            schemas = [schema for schema in named if schema is not None]
            for value in case.get("one_of", ()) if schemas else ():
                if not any(fillings.fits(value, schema, definitions) for schema in schemas):
                    message = f"{case['member']} is never {json.dumps(value):.80}"
                    place = pointer + jsonpointer.join(gate)
                    yield "facts-disagree", message, place, "write a value of its JSON type"


def _variants(fact: Json, pointer: str, definitions: Json) -> Iterator[Finding]:
    """Yield a finding for each further call without its own params or result."""
    choices = variant_choices(fact, definitions)
    for call, of in fact.get("variants", {}).items():
        if of not in choices:
            message = f"{call} is for {of!r:.80}, which is neither another class of params nor a"
            message += " member that asks for another result"
            hint = f"name one of {', '.join(choices)}" if choices else "remove the entry"
            yield "facts-disagree", message, pointer + jsonpointer.join(call), hint


def _headers_of_method(
    fact: Json, pointer: str, definitions: Json, facts: Facts
) -> Iterator[Finding]:
    """Yield a finding for each header field without the member that it repeats."""
    known = facts.document.get("headers", {}).get("request", {})
    params: Json = definitions.get(fact["params"], {})
    headers: Json = fact.get("headers") or {}
    for header, repeated in headers.items():
        place, member = pointer + jsonpointer.join(header), repeated["member"]
        schema = params.get("properties", {}).get(member, {})
        needed, is_required = repeated["policy"] == "both", member in params.get("required", ())
        if header not in known:
            yield "facts-disagree", f"there is no header field {header}", place, "see headers"
        elif schema.get("type") != "string" or (needed and not is_required):
            message = (
                f"{fact['params']} has no{' required' if needed else ''} string {member!r:.80}"
            )
            yield "facts-disagree", message, place, "name another member, or remove the entry"
        elif not _compares_headers(facts):
            yield "facts-disagree", _COMPARED, place, "see errors and lifecycle"


def _compares_headers(facts: Facts) -> bool:
    errors = facts.document.get("errors", {}).values()
    return facts.era == "stateless" and any(error["name"] == "HEADER_MISMATCH" for error in errors)


_COMPARED = "only stateless revisions with an error HEADER_MISMATCH check this"


def _headers(facts: Facts) -> Iterator[Finding]:
    """Yield a finding for each header field that repeats what messages lack, or cannot differ."""
    keys = facts.document.get("meta_keys", {})
    for direction, kind in (("request", "request"), ("response", "result")):
        for header, fact in facts.document.get("headers", {}).get(direction, {}).items():
            place, repeats = jsonpointer.join("headers", direction, header), fact.get("repeats")
            key = None if repeats is None else repeats.get("meta")
            if key is not None and kind not in keys.get(key, {}).get("on", ()):
                message = f"{key} is no key in the _meta of a {kind}"
                yield "facts-disagree", message, f"{place}/repeats", "see meta_keys"
            elif "value" in fact and (direction == "request" or facts.era != "stateless"):
                message = "only responses of stateless revisions get a header field by its value"
                yield "facts-disagree", message, f"{place}/value", "remove it"
            elif repeats is not None and not _compares_headers(facts):
                yield "facts-disagree", _COMPARED, f"{place}/repeats", "see errors and lifecycle"


def variant_choices(fact: Json, definitions: Json) -> list[str]:
    """Return the subjects of further calls: classes of params, and members of the usual one."""
    arms = _arms(fact["params"], definitions)
    results = [arm for name in fact.get("results", ()) for arm in _arms(name, definitions).values()]
    required: set[str] = {member for result in results[1:] for member in result.get("required", ())}
    usual = next(iter(arms.values()), Json())
    optional: set[str] = {*usual.get("properties", ())} - {*usual.get("required", ())}
    return [*[*arms][1:], *sorted(required & optional)]


def _arms(name: str, definitions: Json) -> Mapping[str, Json]:
    """Return the alternatives of a definition by name, or the definition itself."""
    arms = {arm: definitions[arm] for arm in arms_within(name, definitions)}
    return {arm: schema for arm, schema in arms.items() if "anyOf" not in schema}


def _capabilities(shown: Skeleton, facts: Facts) -> Iterator[Finding]:
    for role in ROLES:
        flags = {".".join(path): flag for path, flag in shown.capabilities[role].items()}
        entries: Json = facts.document["capabilities"].get(role, {})
        for path in sorted(flags.keys() | entries.keys()):
            pointer = jsonpointer.join("capabilities", role, path)
            if path not in entries:
                yield "derived-facts", f"capability {role}.{path} has no facts", pointer, "add it"
            elif path not in flags:
                message = f"the schema has no capability {role}.{path}"
                yield "facts-disagree", message, pointer, "remove it"
            elif (entries[path]["kind"] == "flag") != flags[path]:
                kind = "a flag" if flags[path] else "not a flag"
                message = f"{role}.{path} is {kind} in the schema"
                yield "facts-disagree", message, pointer, "presence is an object, a flag a boolean"


def _types(shown: Skeleton, facts: Facts) -> Iterator[Finding]:
    definitions = shown.definitions
    for pointer, name in _type_names(facts.document, shown.methods):
        if name not in definitions:
            yield "unknown-type", f"there is no type {name}", pointer, "see $defs of the snapshot"
    for kind in ("json_schemas", "deprecated"):
        for path in facts.document.get("types", {}).get(kind, {}):
            yield from _member(definitions, path, jsonpointer.join("types", kind, path))
    for section in ("enums", "open_strings"):
        for path in facts.document.get(section, {}):
            yield from _member(definitions, path, jsonpointer.join(section, path))


def _delays(definitions: Json, facts: Facts) -> Iterator[Finding]:
    """Yield a finding for each delay that the type of its error's data lacks."""
    for code, fact in facts.document.get("errors", {}).items():
        data, retry = fact.get("data"), fact.get("retry")
        if retry and "properties" in definitions.get(data, {}):
            place = jsonpointer.join("errors", code, "retry")
            yield from _member(definitions, f"{data}.{retry['member']}", place)


def _streams(shown: Skeleton, facts: Facts) -> Iterator[Finding]:
    """Yield a finding for each stream that no request has, and for a second first or last one."""
    members = {name for type_ in shown.definitions.values() for name in type_.get("properties", {})}
    ends = set[tuple[str, str]]()
    for method, fact in sorted(facts.methods.items()):
        place: Json = (fact or {}).get("stream") or {}
        if "request" not in place or method not in shown.methods:
            continue
        pointer = jsonpointer.join("methods", method, "stream")
        request, order, member = place["request"], place.get("order"), place.get("member")
        carrier = shown.methods.get(request)
        if fact["kind"] != "notification" or carrier is None or carrier.kind != "request":
            message = f"{request!r:.80} is not a request whose stream has {method}"
            hint = "name the request that stays open; only notifications come on streams"
            yield "facts-disagree", message, f"{pointer}/request", hint
        if member is not None and member not in members:
            message = f"no type has the member {member!r:.80}"
            hint = f"name the member of the filter of {request} that selects {method}"
            yield "facts-disagree", message, f"{pointer}/member", hint
        if order is not None and (request, order) in ends:
            message = f"another notification is the {order} one of {request}, too"
            yield "facts-disagree", message, f"{pointer}/order", "one of the two is wrong"
        ends.update({(request, order)} if order else ())


def _duties(definitions: Json, facts: Facts) -> Iterator[Finding]:
    """Yield a finding for each duty of senders or receivers that the schema forbids."""
    for section in ("leniency", "producer"):
        for key, fact in facts.document.get(section, {}).items():
            yield from _member(definitions, fact["where"], jsonpointer.join(section, key))
    hint = "give a value that the schema allows, or remove the entry with null"
    for filling in fillings.impossible_fillings(definitions, facts):
        message = f"{filling.member} cannot be filled in: the schema does not allow this value"
        yield "facts-disagree", message, filling.fact, hint
    for key, fact in facts.document.get("leniency", {}).items():
        owner, _, member = fact["where"].partition(".")
        schema = definitions.get(owner, {}).get("properties", {}).get(member)
        if schema is not None and not fillings.fits(fact["value"], schema, definitions):
            message = f"{member} cannot be read as {fact['value']!r:.80}"
            yield "facts-disagree", message, jsonpointer.join("leniency", key), hint


def _type_names(document: Json, methods: Container[str]) -> Iterator[tuple[str, str]]:
    """Yield the type names in the facts, with their places.

    Facts about methods that are not in the schema are skipped.
    """
    for method, fact in document.get("methods", {}).items():
        if method not in methods:
            continue
        place = jsonpointer.join("methods", method)
        yield f"{place}/message", fact["message"]
        yield f"{place}/params", fact["params"]
        for index, name in enumerate(fact.get("results", ())):
            yield f"{place}/results/{index}", name
    for name in document.get("types", {}).get("open", {}):
        yield jsonpointer.join("types", "open", name), name
    for name, union in document.get("unions", {}).items():
        for index, arm in enumerate(union["arms"]):
            yield jsonpointer.join("unions", name, "arms", index), arm
    for index, name in enumerate(document.get("content_blocks", {}).get("types", ())):
        yield jsonpointer.join("content_blocks", "types", index), name
    for code, fact in document.get("errors", {}).items():
        if "data" in fact:
            yield jsonpointer.join("errors", code, "data"), fact["data"]
    for key, fact in document.get("meta_keys", {}).items():
        place = jsonpointer.join("meta_keys", key)
        for name in (fact["type"].rstrip("[]{}"), *fact["on"]):
            if name[:1].isupper():
                yield place, name


def _member(definitions: Json, path: str, pointer: str) -> Iterator[Finding]:
    owner, _, member = path.partition(".")
    schema: Json = definitions.get(owner, {})
    if owner not in definitions or (member and member not in schema.get("properties", {})):
        yield "unknown-type", f"there is no {path}", pointer, "see $defs of the snapshot"


def _stray_messages(shown: Skeleton) -> Iterator[Finding]:
    """Yield a finding for each message type outside the unions: its sender would be unknown."""
    for name, method in shown.unsent.items():
        hint = f"add {PREFIX}{name} to a message union with a patch, or, if it is of an"
        hint += " extension, give its method facts"
        pointer = jsonpointer.join("methods", method)
        yield "facts-disagree", f"{name} is in no message union", pointer, hint
