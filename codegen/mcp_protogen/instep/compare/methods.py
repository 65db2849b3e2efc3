"""Differences between the methods of two revisions: direction, results, traits, capabilities."""

from collections.abc import Container, Iterator, Mapping
from itertools import groupby

from mcp_protogen.base import jsonpointer
from mcp_protogen.instep.compare.members import members
from mcp_protogen.instep.compare.revisions import ComparedRevision
from mcp_protogen.pipeline.ir import ConditionIR, MethodIR, RequirementIR, Role, Senders
from mcp_protogen.pipeline.reports.severities import Difference


def changes(before: ComparedRevision, after: ComparedRevision) -> Iterator[Difference]:
    """Yield the differences between the method tables of two sides."""
    # A phase is a part of a session, so that it can only be compared within one era.
    same_era = before.ir.era == after.ir.era
    demanded = _mandatory(before), _mandatory(after)
    was = {method.method: method for method in before.ir.methods}
    now = {method.method: method for method in after.ir.methods}
    for name in sorted({*was, *now}):
        old, new = was.get(name), now.get(name)
        if old is None and new is not None:
            code = "method-added-mandatory" if name in demanded[1] else "method-added"
            yield _difference(code, new, "", _summary(new))
        elif new is None and old is not None:
            yield _difference("method-removed", old, _summary(old), "")
        elif old is not None and new is not None:
            yield from _compare(old, new)
            yield from _gates(old, new, before, after)
            if (name in demanded[0]) != (name in demanded[1]):
                code = f"method-now-{'mandatory' if name in demanded[1] else 'voluntary'}"
                yield _difference(code, new, "", "")
            if same_era and old.phase != new.phase:
                texts = (_trait_text(old.phase), _trait_text(new.phase))
                yield _difference("method-phase-changed", new, *texts)


def _mandatory(revision: ComparedRevision) -> frozenset[str]:
    """Return the methods that every receiver must answer, by the facts."""
    facts = revision.facts.get("methods", {}).items()
    return frozenset(name for name, fact in facts if fact.get("mandatory"))


def _difference(code: str, method: MethodIR, before: str, after: str) -> Difference:
    pointer = jsonpointer.join("$defs", method.message)
    return Difference(code, method.method, pointer, before, after, frozenset(method.senders))


def _summary(method: MethodIR) -> str:
    gives = f" -> {' | '.join(method.results)}" if method.results else ""
    return f"{method.kind}, sent by {_join_roles(method.senders)}{gives}"


def _compare(old: MethodIR, new: MethodIR) -> Iterator[Difference]:
    yield from _direction(old, new)
    if old.kind != new.kind:
        yield _difference("method-kind-changed", new, old.kind, new.kind)
    if old.message != new.message:
        yield _difference("method-message-changed", new, old.message, new.message)
    yield from _results(old, new)
    if old.params_required != new.params_required:
        code = f"method-params-now-{'required' if new.params_required else 'optional'}"
        yield _difference(code, new, _need_text(old), _need_text(new))
    # Whether a request can be cancelled follows from its kind.
    implied = {"cancellable"} if old.kind != new.kind else set[str]()
    for trait in sorted({*new.traits} - {*old.traits} - implied):
        yield _difference("method-trait-added", new, "", _trait_text(trait))
    for trait in sorted({*old.traits} - {*new.traits} - implied):
        yield _difference("method-trait-removed", new, _trait_text(trait), "")
    if bool(old.deprecated) != bool(new.deprecated):
        code = f"method-{'' if new.deprecated else 'un'}deprecated"
        yield _difference(code, new, "", f"since {new.deprecated}" if new.deprecated else "")


def _direction(old: MethodIR, new: MethodIR) -> Iterator[Difference]:
    was, now = frozenset[Role](old.senders), frozenset[Role](new.senders)
    if was == now:
        return
    texts = (f"sent by {_join_roles(old.senders)}", f"sent by {_join_roles(new.senders)}")
    if was < now:
        yield _difference("method-sender-added", new, *texts)
    elif now < was:
        pointer = jsonpointer.join("$defs", new.message)
        yield Difference("method-sender-removed", new.method, pointer, *texts, was - now)
    else:
        yield _difference("method-direction-changed", new, *texts)


def _results(old: MethodIR, new: MethodIR) -> Iterator[Difference]:
    was, now = {*old.results}, {*new.results}
    if was == now:
        return
    code = "added" if was < now else "removed" if now < was else "changed"
    texts = (" | ".join(old.results), " | ".join(new.results))
    yield _difference(f"method-result-{code}", new, *texts)


def _gates(
    old: MethodIR, new: MethodIR, before: ComparedRevision, after: ComparedRevision
) -> Iterator[Difference]:
    was, now = _by_capability(old), _by_capability(new)
    known = _params(old, before)
    implied = {capability.constant for capability in after.ir.capabilities if capability.implied}
    for name in [*now, *(name for name in was if name not in now)]:
        earlier, later = was.get(name, ()), now.get(name, ())
        # The source of a gate does not matter.
        texts = (_gate(earlier), _gate(later))
        if texts[0] == texts[1]:
            continue
        who: Senders = frozenset(requirement.sender for requirement in later or earlier)
        pointer = jsonpointer.join("$defs", new.message)
        code = _gate_code(later) if earlier else _new_gate(later, known, implied)
        yield Difference(code, new.method, pointer, *texts, who)


def _gate_code(after: tuple[RequirementIR, ...]) -> str:
    return "gate-changed" if after else "gate-removed"


def _new_gate(
    gate: tuple[RequirementIR, ...], known: Container[str], implied: Container[str]
) -> str:
    """Return the code of a new gate, given the params that were `known` before.

    A gate that also applies where a member is absent affects messages that were possible before,
    unless earlier declarations imply the capability (`implied`).
    """
    cases = [(requirement, case) for requirement in gate for case in requirement.when]
    if cases and not any(
        case.member in known or (case.or_absent and requirement.capability not in implied)
        for requirement, case in cases
    ):
        return "gate-on-new-member"
    return (
        "gate-added" if any(requirement.level == "MUST" for requirement in gate) else "gate-advised"
    )


def _params(method: MethodIR, revision: ComparedRevision) -> frozenset[str]:
    if str(method.message) not in revision.definitions:
        return frozenset()
    paths = members(revision.definitions, str(method.message), message=True)
    return frozenset(path.split(".")[2] for path in paths)


def _by_capability(method: MethodIR) -> Mapping[str, tuple[RequirementIR, ...]]:
    in_order = sorted(method.requires, key=lambda one: one.capability)
    groups = groupby(in_order, key=lambda one: str(one.capability))
    return {name: tuple(requirements) for name, requirements in groups}


def _gate(requirements: tuple[RequirementIR, ...]) -> str:
    return "; ".join(
        f"{need.sender} {need.level} {need.role}:{'.'.join(need.path)}{_if_clause(need.when)}"
        for need in requirements
    )


def _if_clause(conditions: tuple[ConditionIR, ...]) -> str:
    return f" if {' or '.join(map(_condition, conditions))}" if conditions else ""


def _condition(condition: ConditionIR) -> str:
    if condition.one_of is None:
        return f"{condition.member} is given"
    absent = " or absent" if condition.or_absent else ""
    return f"{condition.member} is {' or '.join(condition.texts)}{absent}"


def _need_text(method: MethodIR) -> str:
    return "params required" if method.params_required else "params optional"


def _join_roles(roles: tuple[str, ...]) -> str:
    return " and ".join(roles)


def _trait_text(name: str) -> str:
    return name.replace("_", " ")
