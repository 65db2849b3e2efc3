"""The types by which each side introduces itself: its name and its capabilities."""

from collections.abc import Iterator, Mapping, Sequence

from mcp_protogen.pipeline.derive.expressions import by_name, object_fields, plain
from mcp_protogen.pipeline.ir import Ref, RevisionIR, TypeExpr, TypeIR
from mcp_protogen.runtime.messages.envelope import CLIENT_CAPABILITIES, CLIENT_INFO
from mcp_protogen.runtime.messages.method_table import ERAS

# Their places in the params and the result of the request that opens a connection, in any era.
_IN_PARAMS = {
    "ClientCapabilities": (("capabilities",), ("_meta", CLIENT_CAPABILITIES)),
    "Implementation": (("clientInfo",), ("_meta", CLIENT_INFO)),
}
_IN_RESULT = {"ServerCapabilities": (("capabilities",),)}


def introduction_types(revision: RevisionIR) -> Mapping[str, str]:
    """Return the names of these types in a revision, by the names that the runtime knows."""
    types = {str(type_.name): type_ for type_ in revision.types}
    found = {name: name for name in (*_IN_PARAMS, *_IN_RESULT) if name in types}
    for method in revision.methods:
        if method.method == ERAS[revision.era].opened_by:
            found |= _types_at(_IN_PARAMS, Ref(method.params), types)
            found |= _types_at(_IN_RESULT, Ref(method.results[0]), types)
    return found


def _types_at(
    places: Mapping[str, Sequence[Sequence[str]]], start: TypeExpr, types: Mapping[str, TypeIR]
) -> Iterator[tuple[str, str]]:
    for name, paths in places.items():
        for path in paths:
            at: TypeExpr | None = start
            for member in path:
                fields = by_name(object_fields(plain(at, types), types)) if at else {}
                at = fields[member].type if member in fields else None
            if isinstance(at, Ref):
                yield name, str(at.name)
