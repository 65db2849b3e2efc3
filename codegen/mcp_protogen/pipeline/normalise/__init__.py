"""Normalisation of a patched schema into the few forms that the other stages understand.

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
from mcp_protogen.base.problems import Problem, raising
from mcp_protogen.pipeline.inputs.facts import Facts
from mcp_protogen.pipeline.normalise import flatten, lift, references, unions

Json = dict[str, Any]


def normalise(
    schema: Json, facts: Facts, place: str, keep: Iterable[str] = (), *, marks: bool = False
) -> tuple[Json, tuple[Problem, ...]]:
    """Return the normal form of a patched snapshot, with a warning for each loss.

    `place` names its file in problems. Aliases stay aliases if the facts or `keep` name them.
    """
    definitions: Json = schema.get("$defs", {})
    called = {name: type_name(name) for name in definitions}
    _refuse_collisions(called, place)
    new = {name: other for name, other in called.items() if other != name}
    definitions = references.renamed(definitions, new)
    definitions, loosened = flatten.flattened(definitions, place)
    definitions = references.expanded(definitions, keep={*facts.unions, *keep})
    named = frozenset(definitions)
    definitions = lift.lifted(definitions, marks=marks)
    definitions = lift.shared(definitions, named)
    definitions = references.spelled_out(definitions, marks=marks)
    definitions = unions.distinct(unions.ordered(definitions, facts, keep))
    definitions = unions.tagged(definitions, facts.content_kinds)
    return {"$schema": schema.get("$schema"), "$defs": dict(sorted(definitions.items()))}, loosened


@raising
def _refuse_collisions(called: Mapping[str, str], place: str) -> Iterator[Problem]:
    for name in duplicates(called.values()):
        both = " and ".join(repr(one) for one in called if called[one] == name)
        message = f"{both:.160} would both be called {name}"
        hint = "rename one of them in the schema"
        yield Problem("name-collision", message, place, "/$defs", hint)
