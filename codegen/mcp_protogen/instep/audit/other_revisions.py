"""The other revisions that have something: an SDK often has one class for all of them.

The same applies to extensions, which are audited separately.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any

from mcp_protogen.base.jsonpointer import walk
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.instep.audit.description import Description
from mcp_protogen.pipeline.derive import skeleton
from mcp_protogen.pipeline.inputs import extensions
from mcp_protogen.pipeline.inputs.pinned_extensions import extension_names, pinned_extensions
from mcp_protogen.pipeline.inputs.pins import (
    EXTENSION,
    REVISION,
    Pinnable,
    load_pins,
    pinned_structure,
)

Json = dict[str, Any]


class OtherRevisions:
    """The pinned revisions except one; each is read when it is needed.

    `extensions` are those that the SDK has, in that revision.
    """

    def __init__(self, revision: str, extensions: Collection[str] = ()) -> None:
        self._revision = revision
        self._extensions = extensions

    def is_of_extension(self, *names: str) -> bool:
        """Return whether an extension of the SDK has one of these types or methods."""
        found = (_definitions(extension, EXTENSION) for extension in self._extensions)
        return any(not {*schema, *_constants(schema)}.isdisjoint(names) for schema in found)

    def types(self, name: str) -> list[str]:
        """Return the revisions that define a type."""
        return [revision for revision, schema in self._other_revisions() if name in schema]

    def members(self, name: str, wire: str) -> list[str]:
        """Return the revisions whose type of that name has a member."""
        return [
            revision
            for revision, schema in self._other_revisions()
            if wire in schema.get(name, {}).get("properties", {})
        ]

    def methods(self, method: str) -> list[str]:
        """Return the revisions that have a method."""
        return [
            revision for revision, schema in self._other_revisions() if method in _constants(schema)
        ]

    def _other_revisions(self) -> Iterator[tuple[str, Json]]:
        for revision in load_pins():
            if revision != self._revision:
                yield revision, _definitions(revision, REVISION)


def extensions_of(sdk: Description, revision: str) -> tuple[str, ...]:
    """Return the extensions of a revision that an SDK has.

    It names the identifier, or a method that no revision has.
    """
    texts = {constant.value for constant in sdk.constants if isinstance(constant.value, str)}
    typed = (type_.constants().get("method", ()) for type_ in sdk.types.values())
    methods = sdk.methods.union(*typed)
    old = set[str]().union(*(_constants(_definitions(name, REVISION)) for name in load_pins()))
    return tuple(
        extension.name
        for extension in pinned_extensions()
        if revision in extension.revisions
        and (
            extension.identifier in texts
            or methods & _constants(_definitions(extension.name, EXTENSION)) - old
        )
    )


def methods_by_message() -> Mapping[str, str]:
    """Return the method of each message in all pinned schemas, by definition name."""
    further = [(name, EXTENSION) for name in extension_names()]
    return {
        name: method
        for pinned, kind in (*further, *((name, REVISION) for name in load_pins()))
        for name, method in skeleton.messages(_definitions(pinned, kind))
    }


@cache
def _definitions(name: str, kind: Pinnable) -> Json:
    if kind is EXTENSION:
        schema = extensions.load(name, schema_folder()).schema
    else:
        schema = pinned_structure(name)
    definitions: Json = schema.get("$defs") or schema.get("definitions") or {}
    return definitions


def _constants(schema: Json) -> set[str]:
    return {value for pointer, value in walk(schema) if pointer.endswith("/method/const")}
