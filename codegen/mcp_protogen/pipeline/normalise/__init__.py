"""Normalisation of a patched schema to the few shapes that the other stages understand.

`$defs` of the result, sorted by name, has only objects with `properties` (`x-any-of-required` lists
members if at least one of them is required); unions `{"anyOf": […]}` of named types, with an
OpenAPI `discriminator` if every arm requires the constant, and with `x-open` if an unknown constant
is allowed; and aliases of a scalar, an enumeration, an array or a map. Inside these are only
references, scalars, constants, enumerations, arrays, maps and `anyOf`. Descriptions are left out:
they are looked up by name.

Marks are `x-bare` at each object that published types call `object`, and `x-value` with a name in
place of a reference to a definition of any JSON value.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mcp_protogen.base.names import duplicates, type_name
from mcp_protogen.base.problems import Problem, raise_errors, raising
from mcp_protogen.pipeline.inputs.facts import Facts
from mcp_protogen.pipeline.normalise import flatten, lift, references, unions

Json = dict[str, Any]


def normalise(
    schema: Json, facts: Facts, place: str, keep: Iterable[str] = (), *, marks: bool = False
) -> tuple[Json, tuple[Problem, ...]]:
    """Return a normalised snapshot, with a warning for each loss.

    `place` names its file in problems. Aliases stay aliases if the facts or `keep` name them.
    """
    definitions: Json = schema.get("$defs", {})
    called = {name: type_name(name) for name in definitions}
    _refuse_collisions(called, place)
    new = {name: new_name for name, new_name in called.items() if new_name != name}
    definitions = references.rename_definitions(definitions, new)
    definitions, loosened = flatten.flatten_definitions(definitions, place)
    definitions = references.expand_aliases(definitions, keep={*facts.unions, *keep})
    named = frozenset(definitions)
    definitions = lift.lift_objects(definitions, marks=marks)
    definitions = lift.merge_meta_types(definitions, named)
    definitions = references.simplify_any_values(definitions, marks=marks)
    raise_errors(references.deep_aliases(definitions, place))
    definitions = unions.deduplicate_arms(unions.order_arms(definitions, facts, keep))
    definitions = unions.tag_unions(definitions, facts.content_kinds)
    return {"$schema": schema.get("$schema"), "$defs": dict(sorted(definitions.items()))}, loosened


@raising
def _refuse_collisions(called: Mapping[str, str], place: str) -> Iterator[Problem]:
    for name in duplicates(called.values()):
        both = " and ".join(repr(original) for original in called if called[original] == name)
        message = f"{both:.160} would both be called {name}"
        hint = "rename one of them in the schema"
        yield Problem("name-collision", message, place, "/$defs", hint)
