"""Schema to schema: bring a patched schema into the few forms that the rest understands.

Afterwards `$defs` holds, in name order, only
- objects with `properties`, none of them anonymous (`x-any-of-required` lists members of which one
  has to be there),
- unions `{"anyOf": […]}` of named types, with an OpenAPI `discriminator` where every arm requires
  the constant, and `x-open` where an unknown constant is welcome,
- other names for a scalar, an enumeration, an array or a map,
and inside them only references, scalars, constants, enumerations, arrays, maps and `anyOf`.
Descriptions are not carried along: they are looked up by name.
"""

from typing import Any

from mcp_protogen.normalise import flatten, lift, metadata, references, unions
from mcp_protogen.store.facts import Facts

Json = dict[str, Any]


def normalise(schema: Json, facts: Facts, place: str) -> Json:
    """The normal form of a patched structural snapshot; `place` names its file in problems."""
    definitions: Json = references.checked(schema.get("$defs", {}), place)
    definitions = references.renamed(definitions, facts.renamed)
    definitions = flatten.flattened(definitions, place)
    definitions = references.expanded(definitions, keep=facts.unions)
    named = frozenset(definitions)
    definitions = lift.lifted(definitions, facts.json_schemas, place)
    definitions = metadata.shared(definitions, named)
    definitions = references.acyclic(definitions)
    definitions = unions.ordered(definitions, facts)
    definitions = unions.tagged(definitions, facts.content_kinds)
    return {"$schema": schema.get("$schema"), "$defs": dict(sorted(definitions.items()))}
