"""Differences in capabilities, `_meta` keys, headers and rules."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from mcp_protogen.instep.compare.revisions import ComparedRevision, Header
from mcp_protogen.instep.compare.traffic import answerers
from mcp_protogen.pipeline.ir import BOTH, NOBODY, CapabilityIR, MetaKeyIR, Role, Senders
from mcp_protogen.pipeline.reports.severities import Difference

_SERVER: Senders = frozenset({"server"})

_T = TypeVar("_T")


def changes(before: ComparedRevision, after: ComparedRevision) -> Iterator[Difference]:
    """Yield all differences that are not about types, methods or errors."""
    yield from _capabilities(before, after)
    yield from _meta_keys(before, after)
    yield from _headers(before, after)
    yield from _transports(before, after)
    yield from _stages(before, after)
    yield from _rules(before, after)


def _pairs(
    before: Iterable[_T], after: Iterable[_T], key: Callable[[_T], str], text: Callable[[_T], str]
) -> Iterator[tuple[str, _T | None, _T | None, tuple[str, str]]]:
    """Yield the items whose texts differ, by key: before, after, and both texts."""
    was, now = {key(item): item for item in before}, {key(item): item for item in after}
    for name in sorted({*was, *now}):
        old, new = was.get(name), now.get(name)
        texts = ("" if old is None else text(old), "" if new is None else text(new))
        if texts[0] != texts[1]:
            yield name, old, new, texts


def _capabilities(before: ComparedRevision, after: ComparedRevision) -> Iterator[Difference]:
    both = before.ir.capabilities, after.ir.capabilities
    for name, old, new, texts in _pairs(*both, _capability, _capability_text):
        code = "added" if old is None else "removed" if new is None else "changed"
        who: Senders = frozenset(capability.role for capability in (old, new) if capability)
        yield Difference(f"capability-{code}", name, "", *texts, who)


def _capability(capability: CapabilityIR) -> str:
    return f"{capability.role}:{'.'.join(capability.path)}"


def _capability_text(capability: CapabilityIR) -> str:
    implied = ", implied by an empty object around it" if capability.implied else ""
    return ("a flag that is true" if capability.flag else "by presence") + implied


def _meta_keys(before: ComparedRevision, after: ComparedRevision) -> Iterator[Difference]:
    both = before.ir.meta_keys, after.ir.meta_keys
    for key, old, new, texts in _pairs(*both, lambda one: one.key, _key_text):
        code = "changed" if old and new else "removed" if old else "added"
        if new and new.required and not (old and old.required):
            code = "now-required" if old else "added-required"
        yield Difference(f"meta-key-{code}", key, "", *texts, _writers(old, new, before, after))


_KINDS = frozenset({"request", "notification", "result"})


def _key_text(key: MetaKeyIR) -> str:
    need = "required" if key.required else "optional"
    on = ", ".join(key.of) if key.of else f"each {' and '.join(key.on)}"
    varies = ", on which results depend" if key.varies else ""
    gates = f", which {key.gates} needs" if key.gates else ""
    return f"{need} {key.type} of {on}{varies}{gates}"


def _writers(
    old: MetaKeyIR | None, new: MetaKeyIR | None, before: ComparedRevision, after: ComparedRevision
) -> Senders:
    """Return the senders of the messages that have a key now; without such, of those before."""
    keys = ((new, after), (old, before))
    return next(
        (found for key, revision in keys if key and (found := _key_senders(key, revision))), NOBODY
    )


def _key_senders(key: MetaKeyIR, revision: ComparedRevision) -> Senders:
    if not _KINDS.issuperset(key.on):
        return BOTH
    found: set[Role] = set()
    for method in revision.ir.methods:
        if method.kind in key.on and (not key.of or method.message in key.of):
            found.update(method.senders)
        results = [result for result in method.results if not key.of or result in key.of]
        if "result" in key.on and results:
            found.update(answerers(method))
    return frozenset(found)


def _headers(before: ComparedRevision, after: ComparedRevision) -> Iterator[Difference]:
    for name, old, new, texts in _pairs(before.headers, after.headers, _header, _demand):
        sender: Role = "client" if name.endswith(":request") else "server"
        code = "level-changed" if old and new else "removed" if old else "added"
        if new and _is_demanded(new) and not (old and _is_demanded(old)):
            code = "now-required" if old else "added-required"
        yield Difference(f"header-{code}", name, "", *texts, frozenset({sender}))


def _is_demanded(header: Header) -> bool:
    return header.level == "MUST" and (header.message or not header.when)


def _demand(header: Header) -> str:
    case = f"in messages where {header.when}" if header.message else f"if {header.when}"
    level = f"{header.level} {case}" if header.when else header.level
    return f"{level}, repeats {header.repeats}" if header.repeats else level


def _transports(before: ComparedRevision, after: ComparedRevision) -> Iterator[Difference]:
    was, now = map(_defined_transports, (before, after))
    for name in sorted({*was, *now}):
        if name in was and name in now:
            if was[name] != now[name]:
                yield Difference("transport-changed", name, "", was[name], now[name], BOTH)
        else:
            code = f"transport-{'added' if name in now else 'removed'}"
            yield Difference(code, name, senders=BOTH)


def _defined_transports(side: ComparedRevision) -> dict[str, str]:
    """Return how each transport is found and framed, by name."""
    facts: Mapping[str, Mapping[str, Any]] = side.facts.get("transports", {})
    return {
        name: ", then ".join(
            filter(None, (f"{fact['address']}, {fact['framing']}", fact.get("fallback")))
        )
        for name, fact in facts.items()
        if not fact.get("later")
    }


def _stages(before: ComparedRevision, after: ComparedRevision) -> Iterator[Difference]:
    was, now = _stages_of(before), _stages_of(after)
    for identifier in sorted(was.keys() & now.keys()):
        texts = was[identifier], now[identifier]
        if texts[0] != texts[1]:
            yield Difference("stage-changed", f"stage of {identifier}", "", *texts, BOTH)


def _stages_of(side: ComparedRevision) -> dict[str, str]:
    """Return the stages that a side says of extensions, by identifier."""
    stages = dict.fromkeys(side.ir.absorbs, "core")
    if side.extension and side.extension.stage:
        stages[side.extension.identifier] = side.extension.stage
    return stages


def _header(header: Header) -> str:
    return f"{header.name.lower()}:{header.direction}"


@dataclass(frozen=True, slots=True)
class _Rule:
    """One rule as text, with its name; the two values of a switch are more and less.

    `senders` are the sides that use it.
    """

    name: str
    value: Any
    switch: Literal["freedom", "none"] = "none"
    senders: Senders = BOTH


def _rules_of(revision: ComparedRevision) -> Iterator[_Rule]:
    rules = revision.ir.rules
    result_type: Mapping[str, Any] = revision.facts.get("rules", {}).get("result_type", {})
    member = result_type.get("member", "resultType")
    yield _Rule("batches received", rules.receive_batches, "freedom")
    yield _Rule("batches sent", rules.send_batches, "freedom")
    yield _Rule("errors without an id", rules.error_id_optional, "freedom")
    yield _Rule("requests from servers", rules.server_requests, "freedom", _SERVER)
    yield _Rule("streams that servers close early", rules.polling, "freedom", _SERVER)
    yield _Rule("arguments that do not fit a tool", rules.bad_arguments, senders=_SERVER)
    yield _Rule(f"values of {member}", ", ".join(rules.result_type_values))
    if "absent" in result_type:
        yield _Rule(f"{member} that is absent", f"read as {result_type['absent']}")
    for leniency in rules.leniency:
        yield _Rule(f"{leniency.member} that is {leniency.rule}", f"read as {leniency.value}")


def _rules(before: ComparedRevision, after: ComparedRevision) -> Iterator[Difference]:
    if before.ir.era != after.ir.era:
        eras = (before.ir.era, after.ir.era)
        yield Difference("era-changed", "lifecycle", "", *eras, BOTH)
    was, now = _by_name(before), _by_name(after)
    for name in [*now, *(name for name in was if name not in now)]:
        old, new = was.get(name), now.get(name)
        if (old and old.value) == (new and new.value):
            continue
        texts = (_value(old), _value(new))
        rule = new or old
        if rule and rule.switch == "freedom":
            code = "rule-relaxed" if new and new.value else "rule-tightened"
        else:
            code = "rule-changed"
        yield Difference(code, name, "", *texts, rule.senders if rule else BOTH)


def _by_name(revision: ComparedRevision) -> dict[str, _Rule]:
    """Return the rules by name; two facts of one rule that differ are both in its value."""
    found: dict[str, _Rule] = {}
    for rule in _rules_of(revision):
        known = found.setdefault(rule.name, rule)
        if known.value != rule.value:
            found[rule.name] = replace(rule, value=f"{known.value}; {rule.value}")
    return found


def _value(rule: _Rule | None) -> str:
    if rule is None:
        return ""
    return ("yes" if rule.value else "no") if isinstance(rule.value, bool) else str(rule.value)
