"""Plans with an effect: their own, or that of a plan that they lead to."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, cast

from mcp_protogen.base.graph import reach
from mcp_protogen.runtime.translation.plans import Arms, Delay, Members, Plan, Step, To, Whole


@dataclass(frozen=True, slots=True)
class TypePair:
    """A source type and the destination type of its values."""

    source: str
    destination: str


def key_of(pair: TypePair) -> str:
    """Return the key of the plan for a pair; it is unique even if pairs share a source."""
    return f"{pair.source} as {pair.destination or 'an object'}"


def works(step: Step | None, plans: Mapping[TypePair, Plan]) -> bool:
    """Return whether a step has an effect, by the plans it leads to."""
    by_key = {key_of(pair): plan for pair, plan in plans.items()}
    led_to = reach(plans_in(step), lambda key: plans_in(by_key[key]))
    return any(acts(by_key[key]) for key in led_to)


def acts(plan: Plan) -> bool:
    """Return whether a plan itself has an effect."""
    match plan:
        case Members():
            # `emptied` has an effect only if other members are dropped.
            parts = (plan.apply, plan.drop, plan.move, plan.undefined, plan.add, plan.finish)
            return any(parts) or any(isinstance(step, Delay) for step in plan.inside.values())
        case Arms() | Whole():
            return bool(plan.apply)


def plans_in(part: Any) -> Iterator[str]:
    """Yield the plans that a plan, a step or any part of them leads to."""
    if isinstance(part, To):
        yield part.plan
    elif isinstance(part, Mapping):
        yield from plans_in(tuple(cast("Mapping[str, object]", part).values()))
    elif isinstance(part, tuple):
        for inner in cast("tuple[object, ...]", part):
            yield from plans_in(inner)
    elif is_dataclass(part):
        for field in fields(part):
            yield from plans_in(getattr(part, field.name))
