"""The functions that read each key of facts; `python -m support.unit.fact_readers` lists them.

Facts are given to the code as objects that note who takes a value out of them.
"""

import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import unwrap
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest
from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.jsonvalue import is_array, is_object, merge_patch
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.instep.compare.compare_revisions import compare_revisions
from mcp_protogen.instep.compare.extensions import compared_extension
from mcp_protogen.instep.compare.revisions import (
    ComparedRevision,
    compared_source,
    without_tried_facts,
)
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.extension_versions import versions_of
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.inputs import extensions, facts, pinned_extensions, sources
from mcp_protogen.pipeline.inputs.pinned_extensions import extension_names
from mcp_protogen.scaffold.revisions import default_revisions
from mcp_protogen.servers.inspect import revision_facts
from support.revisions import NEWEST, REVISIONS

Json = dict[str, Any]

OF_REVISIONS: Final = "facts"
OF_EXTENSIONS: Final = "extension-facts"
"""The formats, by the names of their files."""

_UNCOUNTED: Final = ("mcp_protogen.base.", "mcp_protogen.instep.drafts.")
"""Modules that only copy or draft facts."""

_SOURCE: Final = {"source": "basic/index"}
_LIMITED: Final[Json] = {
    "name": "RATE_LIMITED",
    "emit": "server",
    "http_status": 429,
    **_SOURCE,
    "data": "Implementation",
    "retry": {"member": "name", "unit": "ms"},
    "only_with": "x-one",
    "outdates": {"methods": ["tools/list"]},
}
_FIELD: Final[Json] = {
    "level": "MAY",
    "repeats": {"meta": "traceparent", "policy": "if_present"},
    **_SOURCE,
}
_VALUE: Final[Json] = {"level": "MUST", "when": "failed", "value": "no-store", **_SOURCE}
# Keys of the formats that no committed file has.
_NEXT: Final[Json] = {
    "caching": {"unit": "list", "tag": "ttlMs", "known": "x-one", "stale": "x-two", **_SOURCE},
    "extension_versions": {
        "client": {"member": "version", "floor": "requires.spec.min"},
        "server": {"member": "versions", "list": True, "floor": "requires.protocolVersion"},
        "agree": "major",
        "error": {
            "code": -32990,
            "by_identifier": "extensions",
            "requested": "requested",
            "supported": "supported",
        },
        **_SOURCE,
    },
    "errors": {
        "-32990": _LIMITED,
        "-32991": {**_LIMITED, "name": "STALE", "outdates": {"member": "name"}},
    },
    "meta_keys": {
        "x-one": {
            "on": ["request"],
            "type": "string",
            "required": False,
            "varies": True,
            **_SOURCE,
        },
        "x-two": {"on": ["result"], "type": "string", "required": False, **_SOURCE},
        "x-three": {
            "on": ["Tool"],
            "type": "ClientCapabilities",
            "required": False,
            "gates": "tools/call",
            **_SOURCE,
        },
    },
    "methods": {"notifications/message": {"stream": {"request": "tools/call", "every_ms": 1}}},
    "headers": {"request": {"x-one": _FIELD}, "response": {"x-one": _FIELD, "x-two": _VALUE}},
    "places": {
        "requested_outputs": {"path": "inputResponses[action=accept]", **_SOURCE},
        "tool_content": {"path": "content[type=text].annotations.audience", **_SOURCE},
        "tool_content_variant": {"path": "icons[src=one]", **_SOURCE},
    },
}


@dataclass(frozen=True)
class Readers:
    """The functions that read each key, by its place in a format; `*` stands for any name."""

    format: str
    found: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    @cached_property
    def schema(self) -> Json:
        file = schema_folder() / "formats" / f"{self.format}.schema.json"
        schema: Json = parse_json(file.read_bytes(), file.name)
        return schema

    def places(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._places(self.schema, "")))

    def _places(self, schema: Json, place: str) -> Iterator[str]:
        for inner, at in self.inside(schema, place):
            if not at.endswith("*"):
                yield at
            yield from self._places(inner, at)

    def inside(self, schema: Json, place: str) -> Iterator[tuple[Json, str]]:
        """Yield the schemas of members and items, with their places."""
        if "$ref" in schema:
            yield from self.inside(self.schema["$defs"][schema["$ref"].rpartition("/")[2]], place)
        for arm in schema.get("anyOf", ()):
            yield from self.inside(arm, place)
        for key, member in schema.get("properties", {}).items():
            if is_object(member):
                yield member, f"{place}/{key}"
        for keyword in ("additionalProperties", "items"):
            if is_object(schema.get(keyword)):
                yield schema[keyword], f"{place}/*"

    def wrap(self, value: Any, schema: Json, place: str = "") -> Any:
        """Return facts, or a part of them, as objects that note who reads them."""
        arms: dict[str, list[Json]] = {}
        for inner, at in self.inside(schema, place):
            arms.setdefault(at, []).append(inner)
        known = {at.rpartition("/")[2]: (at, {"anyOf": found}) for at, found in arms.items()}
        other = known.get("*", (f"{place}/*", {}))
        if is_array(value):
            return [self.wrap(item, other[1], other[0]) for item in value]
        if not is_object(value):
            return value
        members = dict(value)
        for key in members:
            at, inner = known.get(key, other)
            members[key] = self.wrap(members[key], inner, at)
        return NotedObject(members, {key: at for key, (at, _) in known.items()}, self)

    def note(self, place: str) -> None:
        """Note who takes a value out of facts."""
        frame = sys._getframe(3)  # pyright: ignore[reportPrivateUsage]
        module = str(frame.f_globals.get("__name__"))
        if module.startswith("mcp_protogen.") and not module.startswith(_UNCOUNTED):
            name = frame.f_code.co_qualname.partition(".<")[0]
            self.found.setdefault(place, set()).add(f"{module}:{name}")


class NotedObject(Json):
    """An object of facts that notes who reads its members; `places` are those of its keys."""

    def __init__(self, members: Json, places: Mapping[str, str], readers: Readers) -> None:
        super().__init__(members)
        self._places = places
        self._readers = readers

    def __getitem__(self, key: str) -> Any:
        self._note(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._note(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self._note(str(key))
        return super().__contains__(key)

    def items(self) -> Any:
        self._note(*self._places)
        return super().items()

    def values(self) -> Any:
        self._note(*self._places)
        return super().values()

    def _note(self, *keys: str) -> None:
        for key in keys:
            self._readers.note(self._places.get(key, ""))


@contextmanager
def _note_readers(of_revisions: Readers, of_extensions: Readers) -> Generator[None]:
    make, read = facts.Facts.__init__, vars(pinned_extensions)["_read"]

    def read_noted(name: str, folder: Path | None) -> Any:
        return of_extensions.wrap(read(name, folder), of_extensions.schema)

    def init(self: facts.Facts, *given: Any, **named: Any) -> None:
        make(self, *given, **named)
        document = of_revisions.wrap(self.document, of_revisions.schema)
        object.__setattr__(self, "document", document)

    with pytest.MonkeyPatch.context() as patch:
        # What was read before notes nothing.
        patch.setattr(facts, "load", unwrap(facts.load))
        patch.setattr(facts.Facts, "__init__", init)
        patch.setattr(pinned_extensions, "_read", read_noted)
        yield


def find_readers() -> tuple[Readers, Readers]:
    """Return the readers of facts of revisions and of extensions.

    They are derived, compared, inspected and used for new projects.
    """
    of_revisions, of_extensions = Readers(OF_REVISIONS), Readers(OF_EXTENSIONS)
    revision_facts.all_revisions.cache_clear()
    with _note_readers(of_revisions, of_extensions):
        default_revisions()
        revision_facts.all_revisions()
        facts.package_transports(schema_folder(), REVISIONS)
        sides = [_side(revision) for revision in REVISIONS]
        for before, after in pairwise(sides):
            compare_revisions(before, after)
        for name in extension_names():
            compared_extension(name)
        _derive_versions(of_extensions)
    revision_facts.all_revisions.cache_clear()
    return of_revisions, of_extensions


def _derive_versions(readers: Readers) -> None:
    """Derive two versions of an extension, in a revision that tells them apart."""
    first = extensions.load(extension_names()[0], schema_folder())
    stated = {"is": "2.0.0", "absent": "1.0.0", **_SOURCE}
    facts = {**first.facts, "inherits": first.name, "version": stated}
    wrapped = readers.wrap(facts, readers.schema)
    versions_of((first, replace(first, name="later", facts=wrapped)), _source(NEWEST))


def _source(revision: str) -> sources.RevisionSource:
    source = sources.load(revision, GenerationOptions((revision,)))
    if revision != NEWEST:
        return source
    document = merge_patch(source.facts.document, _NEXT)
    return replace(source, facts=replace(source.facts, document=document))


def _side(revision: str) -> ComparedRevision:
    source = _source(revision)
    derive_revision(source)
    source.facts.as_published()
    plain = without_tried_facts(replace(source, schema=source.apply_patches(), patches=()))
    return compared_source(plain, derive_revision(plain), plain.schema, title=revision)


if __name__ == "__main__":
    for readers in find_readers():
        for place in readers.places():
            print(readers.format, place, *sorted(readers.found.get(place, ())))
