"""Facts that have no effect where they stand, although their format allows them.

Without a finding, a maintainer would take them for done.
"""

from collections.abc import Iterator
from typing import Any, Final

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_array
from mcp_protogen.pipeline.derive.skeleton import Skeleton
from mcp_protogen.pipeline.inputs.facts import Facts
from mcp_protogen.pipeline.ir import PROGRESS
from mcp_protogen.pipeline.normalise.references import arms_within, definition_name
from mcp_protogen.runtime.core.errors import MISSING_CLIENT_CAPABILITY
from mcp_protogen.runtime.core.spec import CALL_TOOL, LIST_TOOLS

Json = dict[str, Any]
Finding = tuple[str, str, str, str]
"""A code, a message, the place in the facts, and a hint."""

_REMOVE: Final = "remove it, or state it where it has an effect"
_MESSAGES: Final = ("request", "notification", "result", "error")
_OF_RECEIVERS: Final = ("absent_reads_as", "negative_reads_as")
_EVIDENCE: Final = {
    "cacheable": ("ttlMs", "cacheScope"),
    "may_require_input": ("requestState",),
    "task_augmentable": ("task",),
}
"""Members of params or a result without which a trait means nothing."""


def find_unread(shown: Skeleton, facts: Facts) -> Iterator[Finding]:
    """Yield a finding for each fact of a revision that nothing would read."""
    for find in (_errors, _meta_keys, _caching, _methods, _duties, _capabilities, _transports):
        for steps, reason in find(shown, facts):
            yield "unread-fact", f"no effect: {reason}", jsonpointer.join(*steps), _REMOVE


_Unread = Iterator[tuple[tuple[str, ...], str]]
"""The steps to a fact, and the reason why it has no effect."""


def _errors(shown: Skeleton, facts: Facts) -> _Unread:
    methods = facts.methods
    for code, fact in facts.document.get("errors", {}).items():
        place = ("errors", code)
        if fact.get("emit") in ("client", "never"):
            for key in ("http_status", "retry", "only_with", "outdates"):
                if fact.get(key):
                    yield (*place, key), "no server answers with this error"
        key = fact.get("only_with")
        outdates: Json = fact.get("outdates") or {}
        if key and not _is_on(facts, key, "request"):
            yield (*place, "only_with"), f"{key} is no key in the _meta of a request"
        for number, method in enumerate(outdates.get("methods", ())):
            if "cacheable" not in (methods.get(method, {}).get("traits") or ()):
                reason = f"no client caches results of {method}"
                yield (*place, "outdates", "methods", str(number)), reason
        member = outdates.get("member")
        if member and member not in _members(shown, fact.get("data") or ""):
            yield (*place, "outdates"), f"its data has no {member}"


def _meta_keys(shown: Skeleton, facts: Facts) -> _Unread:
    gates: list[str] = []
    for key, fact in facts.document.get("meta_keys", {}).items():
        place = ("meta_keys", key)
        types = [name for name in fact["on"] if name not in _MESSAGES]
        for name in types:
            if name in shown.definitions and "_meta" not in _members(shown, name):
                yield (*place, "on"), f"{name} has no _meta"
        for number, name in enumerate(fact.get("of") or ()):
            if name not in shown.definitions:
                yield (*place, "of", str(number)), f"there is no type {name}"
        if "gates" not in fact:
            continue
        gates.append(key)
        listed = facts.methods.get(facts.name_of(LIST_TOOLS), {}).get("results", ())
        entries = {name for result in listed for name in _entries(shown, result)}
        if fact["gates"] != facts.name_of(CALL_TOOL):
            yield (*place, "gates"), "only calls of tools are checked"
        elif {*fact["on"]} != entries:
            yield (*place, "gates"), f"only {', '.join(entries) or 'no type'} is listed"
        elif fact["type"] != "ClientCapabilities":
            yield (*place, "gates"), "it has no ClientCapabilities"
        elif str(MISSING_CLIENT_CAPABILITY) not in facts.document.get("errors", {}):
            yield (*place, "gates"), f"no error is {MISSING_CLIENT_CAPABILITY}"
        elif gates[1:]:
            yield (*place, "gates"), f"{gates[0]} gates these calls"


def _methods(shown: Skeleton, facts: Facts) -> _Unread:
    parts: list[str] = []
    for method, fact in facts.methods.items():
        if method not in shown.methods or fact["kind"] != shown.methods[method].kind:
            continue
        place, params = ("methods", method), fact["params"]
        members, kind = _members(shown, params), fact["kind"]
        if facts.era == "stateless" and fact.get("phase", "any") != "any":
            yield (*place, "phase"), "stateless revisions have no phases"
        traits = fact.get("traits")
        for number, trait in enumerate(traits if is_array(traits) else ()):
            if reason := _trait_without_effect(shown, facts, fact, trait):
                yield (*place, "traits", str(number)), reason
        if fact.get("mandatory") and kind != "request":
            yield (*place, "mandatory"), f"a {kind} is not answered"
        if reports := fact.get("reports"):
            parts += [method] * (facts.first_names.get(method, method) != PROGRESS)
            lacking = [name for name in reports.values() if name not in members]
            # An entry without one of its members could not be read.
            if kind != "notification":
                yield (*place, "reports"), "only notifications report"
            elif not _is_on(facts, reports["token"], "request"):
                reason = f"{reports['token']} is no key in the _meta of a request"
                yield (*place, "reports"), reason
            elif lacking:
                yield (*place, "reports"), f"{params} has no {lacking[0]}"
            elif method in parts and fact["senders"] != ["server"]:
                yield (*place, "reports"), "only servers send parts of a result"
            elif parts[1:] and method in parts:
                yield (*place, "reports"), f"{parts[0]} has the parts of results"


def _trait_without_effect(shown: Skeleton, facts: Facts, fact: Json, trait: str) -> str:
    if fact["kind"] != "request":
        return f"a {fact['kind']} has no traits"
    have = {
        member for name in (fact["params"], *fact["results"]) for member in _members(shown, name)
    }
    needed = _EVIDENCE.get(trait, ())
    if trait == "paginated":
        needed = (*filter(str.isidentifier, [facts.path_of("next_cursor")]),)
    lacking = [member for member in needed if member not in have]
    return f"neither params nor results have {lacking[0]}" if lacking else ""


def _caching(shown: Skeleton, facts: Facts) -> _Unread:
    fact: Json = facts.document.get("caching") or {}
    cacheable = [
        stated["results"][0]
        for stated in facts.methods.values()
        if "cacheable" in (stated.get("traits") or ())
    ]
    if fact and not cacheable:
        yield ("caching",), "no method is cacheable"
    elif "tag" in fact and not any(fact["tag"] in _members(shown, name) for name in cacheable):
        yield ("caching", "tag"), f"no result that is cached has {fact['tag']}"
    for name, kind in (("known", "request"), ("stale", "result")):
        if name in fact and not _is_on(facts, fact[name], kind):
            yield ("caching", name), f"{fact[name]} is no key in the _meta of a {kind}"


def _duties(shown: Skeleton, facts: Facts) -> _Unread:
    results = [name for fact in facts.methods.values() for name in fact.get("results", ())]
    answered = {member for name in results for member in _members(shown, name)}
    for section, of_receivers in (("leniency", True), ("producer", False)):
        for key, fact in facts.document.get(section, {}).items():
            if (fact["rule"] in _OF_RECEIVERS) != of_receivers:
                whom = "senders" if of_receivers else "receivers"
                yield (section, key, "rule"), f"{fact['rule']} is for {whom}"
            elif of_receivers and fact["where"].partition(".")[2] not in answered:
                yield (section, key, "where"), "it is no member of a result"


def _capabilities(shown: Skeleton, facts: Facts) -> _Unread:
    for role, entries in facts.document.get("capabilities", {}).items():
        for path, fact in entries.items():
            if fact.get("implied") and "." not in path:
                yield ("capabilities", role, path, "implied"), "there is no object around it"


def _transports(_: Skeleton, facts: Facts) -> _Unread:
    owners: dict[tuple[str, str], str] = {}
    for name, fact in facts.document.get("transports", {}).items():
        names = [(fact.get("address", ""), given) for given in fact.get("names", [""])]
        for given in names:
            owners.setdefault(given, name)
        # One that is not served may be the fallback of the other.
        if fact.get("server") and (owner := owners[names[0]]) != name:
            place = ("transports", name, "names", "0")
            yield place, f"the transport {owner} has the name {names[0][1]}"


def _is_on(facts: Facts, key: str, kind: str) -> bool:
    return kind in facts.document.get("meta_keys", {}).get(key, {}).get("on", ())


def _members(shown: Skeleton, name: str) -> Json:
    """Return the members of a type, or of all arms of a union."""
    arms = (shown.definitions[arm] for arm in arms_within(name, shown.definitions))
    return {key: schema for arm in arms for key, schema in arm.get("properties", {}).items()}


def _entries(shown: Skeleton, page: str) -> Iterator[str]:
    for schema in _members(shown, page).values():
        if "$ref" in schema.get("items", {}):
            yield definition_name(schema["items"]["$ref"])
