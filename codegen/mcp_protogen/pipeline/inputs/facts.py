"""Facts that schemas lack: direction, required capabilities, codes, traits, order.

Each fact names its source page. The `facts.json` of a revision is a JSON Merge Patch (RFC 7396)
over that of the revision it inherits, so that a fact of several revisions is written once.

A schema without facts takes those of a known revision, its origin: of those of the same era, which
the methods of a schema show, the one that differs in the fewest types and methods. The name of the
revision decides only between equals, because a draft may have any name, and if no era fits.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.jsonpointer import NothingThere
from mcp_protogen.base.jsonvalue import is_array, is_object, merge_patch
from mcp_protogen.base.names import Era
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.base.resources import runtime_folder
from mcp_protogen.pipeline.inputs.absorbed import merge_facts
from mcp_protogen.pipeline.inputs.pins import Pins, load_pins, nearest_revision, pinned_structure
from mcp_protogen.pipeline.ir import ConditionIR, SessionIR, TransportIR

Json = dict[str, Any]


@dataclass(frozen=True)
class Facts:
    """The merged facts of one revision, with the format of `formats/facts.schema.json`."""

    revision: str
    document: Json
    origin: str
    """The revision with these facts: itself, or another one if it has none."""
    edited: bool = False
    """Whether the schema is one of the user that differs from the pinned one."""
    first_names: Mapping[str, str] = field(default_factory=dict[str, str])
    """The first names of methods that earlier revisions call otherwise."""

    @property
    def inherited(self) -> bool:
        """Return whether the facts are about another schema than that of the revision."""
        return self.edited or self.origin != self.revision

    @property
    def era(self) -> Era:
        """The era of the revision."""
        era: Era = self.document.get("lifecycle", {}).get("era", "handshake")
        return era

    @cached_property
    def methods(self) -> Mapping[str, Json]:
        """The facts of methods, by method."""
        methods: Mapping[str, Json] = self.document.get("methods", {})
        return methods

    def path_of(self, place: str) -> str:
        """Return the text of a path (see `derive.value_paths`); empty for a missing one."""
        fact: Json = self.document.get("places", {}).get(place) or {}
        text: str = fact.get("path", "")
        return text

    def name_of(self, known_as: str) -> str:
        """Return a method's name in this revision, given its first one."""
        names = (name for name, first in self.first_names.items() if first == known_as)
        return next(names, known_as)

    @cached_property
    def absorbed(self) -> Mapping[str, Json]:
        """The extensions that became part of the core: source, identifier, texts, by name."""
        absorbed: Mapping[str, Json] = self.document.get("absorbs", {})
        return absorbed

    @cached_property
    def transports(self) -> tuple[TransportIR, ...]:
        """The transports of the revision.

        Raise `ProblemError` (`bad-form`) for a partial one, or one without its function.
        """
        entries: Mapping[str, Json] = self.document.get("transports", {})
        return tuple(_transport(name, fact, self.origin) for name, fact in entries.items())

    @cached_property
    def unions(self) -> Mapping[str, tuple[str, ...]]:
        """The arms of named unions, in source order."""
        unions = self.document.get("unions", {})
        return {name: tuple(union["arms"]) for name, union in unions.items()}

    @cached_property
    def enums(self) -> Mapping[str, tuple[str, ...]]:
        """The members of enumerations in source order, by `Type` or `Type.member`."""
        return {
            path: tuple(enum["values"]) for path, enum in self.document.get("enums", {}).items()
        }

    @cached_property
    def open_strings(self) -> Mapping[str, tuple[str, ...]]:
        """The known values of strings that may have others, by `Type.member`."""
        strings = self.document.get("open_strings", {})
        return {path: tuple(string["values"]) for path, string in strings.items()}

    @cached_property
    def content_kinds(self) -> frozenset[str]:
        """The types that are content blocks; a union of them accepts unknown kinds."""
        return frozenset(self.document.get("content_blocks", {}).get("types", ()))

    @cached_property
    def open_types(self) -> frozenset[str]:
        """The types that may have undeclared members by intent."""
        return frozenset(self._types("open"))

    @cached_property
    def json_schemas(self) -> frozenset[str]:
        """The members (`Type.member`) that contain a JSON Schema, such as that of a tool."""
        return frozenset(self._types("json_schemas"))

    @cached_property
    def deprecated(self) -> frozenset[str]:
        """The deprecated types and members (`Type`, `Type.member`)."""
        return frozenset(self._types("deprecated"))

    def with_names(self, names: Mapping[str, str]) -> "Facts":
        """Return these facts with other names of types and methods."""
        return replace(self, document=_rename(self.document, names)) if names else self

    def as_published(self) -> "Facts":
        """Return these facts with types as `schema.ts` defines them."""
        defined = {
            name: entry for name, entry in self._types("open").items() if "described" not in entry
        }
        types: Json = {**self.document.get("types", {}), "json_schemas": {}, "open": defined}
        return replace(self, document={**self.document, "types": types})

    def _types(self, kind: str) -> Json:
        entries: Json = self.document.get("types", {}).get(kind, {})
        return entries


def _rename(value: Any, names: Mapping[str, str]) -> Any:
    if is_object(value):
        return {_rename(key, names): _rename(inner, names) for key, inner in value.items()}
    if is_array(value):
        return [_rename(entry, names) for entry in value]
    if not isinstance(value, str):
        return value
    name = re.split(r"[.\[{]", value, maxsplit=1)[0]
    return names.get(name, name) + value[len(name) :]


def _transport(name: str, fact: Json, origin: str) -> TransportIR:
    place, pointer = f"schema/{origin}/facts.json", jsonpointer.join("transports", name)
    for key in ("address", "names", "framing", "client"):
        if key not in fact:
            message = f"the transport {name} has no {key}, here or in an earlier revision"
            raise ProblemError(Problem("bad-form", message, place, pointer))
    for key in ("client", "server"):
        if key in fact and not _is_function(fact[key]):
            message = f"the runtime has no function {fact[key]}"
            hint = "write it, or correct its name or that of its module"
            raise ProblemError(Problem("bad-form", message, place, f"{pointer}/{key}", hint=hint))
    session = fact.get("session")
    return TransportIR(
        name,
        fact["address"],
        tuple(fact["names"]),
        fact["framing"],
        fact["client"],
        server=fact.get("server", ""),
        fallback=fact.get("fallback", ""),
        later=fact.get("later", False),
        session=session and SessionIR(session["begins"], session["header"], session["ends"]),
    )


@cache
def _is_function(path: str) -> bool:
    """Return whether a module of the runtime defines a function, without importing it."""
    *folders, module, name = path.split(".")
    file = runtime_folder().joinpath(*folders, f"{module}.py")
    defined = re.compile(rf"^(async )?def {name}\(", re.MULTILINE)
    return file.is_file() and defined.search(file.read_text("utf-8")) is not None


def package_transports(folder: Path, revisions: Iterable[str]) -> tuple[TransportIR, ...]:
    """Return the transports of the revisions of a package, as the newest has them.

    A revision without facts of its own, such as a kept one, has those of the newest with facts.
    """
    known = revisions_with_facts(folder)
    loaded = (load(folder, name if name in known else known[-1]) for name in revisions)
    found = {transport.name: transport for facts in loaded for transport in facts.transports}
    return tuple(found.values())


def chain(folder: Path, revision: str) -> list[Path]:
    """Return the facts files behind `revision`, oldest first.

    Raise `ProblemError` if the chain is broken.
    """
    paths: list[Path] = []
    following: str | None = revision
    while following is not None:
        path = _file(folder, following)
        if path in paths:
            message = "these facts inherit from themselves, directly or through others"
            raise ProblemError(Problem("missing-facts", message, str(path), "/inherits"))
        if not path.is_file():
            why = f", but {paths[-1]} inherits from it" if paths else ""
            message = f"this file does not exist{why}"
            raise ProblemError(Problem("missing-facts", message, str(path)))
        paths.append(path)
        following = _read(path).get("inherits")
    return paths[::-1]


def load(folder: Path, revision: str) -> Facts:
    """Return the facts of a known revision from the `schema` folder."""
    document: Json = {}
    for path in chain(folder, revision):
        document = merge_facts(document, _read(path), path.parent.name, folder)
    return Facts(revision, document, revision)


def origin_of(folder: Path, revision: str, schema: Mapping[str, Any]) -> str | None:
    """Return the revision whose facts apply to this one: itself, or another one.

    `schema` is its snapshot. A newly pinned revision has no facts yet, and cannot be an origin.
    """
    if _file(folder, revision).is_file():
        return revision
    pins = load_pins(folder)
    eras: dict[str, Era] = {name: load(folder, name).era for name in revisions_with_facts(folder)}
    return _best_origin(revision, schema, eras, folder, pins)


def facts_for(
    folder: Path, revision: str, schema: Mapping[str, Any], *, edited: bool = False
) -> Facts:
    """Return the facts that apply to a revision, its own or others; raise `ProblemError`."""
    origin = origin_of(folder, revision, schema)
    if origin is None:
        message = f"{revision} has no facts, and no other revision has facts to use"
        raise ProblemError(Problem("missing-facts", message, str(folder)))
    found = Facts(revision, load(folder, origin).document, origin, edited)
    if not found.inherited:
        return found
    return replace(found, document=as_shown(folder, found.document, schema))


def as_shown(folder: Path, document: Json, schema: Mapping[str, Any]) -> Json:
    """Return facts of another schema, replaced where this schema itself shows them.

    It shows its era, whether results have a type, and which members senders may fill in.
    """
    documents = [load(folder, name).document for name in revisions_with_facts(folder)]
    shown: Json = {"producer": dict(_filled_in_by_others(documents, document, schema))}
    if era := era_of(schema):
        shown["lifecycle"] = {"era": era}
    with suppress(NothingThere):
        jsonpointer.get(schema, "/$defs/Result/properties/resultType")
        if "result_type" not in document.get("rules", {}):
            rule_sets = [facts.get("rules", {}) for facts in documents]
            rules = [entry["result_type"] for entry in rule_sets if "result_type" in entry]
            shown["rules"] = {"result_type": rules[-1] if rules else None}
    merged: Json = merge_patch(document, shown)
    return merged


def _filled_in_by_others(
    documents: Iterable[Json], document: Json, schema: Mapping[str, Any]
) -> Iterator[tuple[str, Json]]:
    """Yield members of the schema that other revisions fill in, and that these facts lack."""
    places = {fact["where"] for fact in document.get("producer", {}).values()}
    for facts in documents:
        for key, fact in facts.get("producer", {}).items():
            owner, _, member = fact["where"].partition(".")
            with suppress(NothingThere):
                jsonpointer.get(schema, jsonpointer.join("$defs", owner, "properties", member))
                if fact["rule"] == "filled_in" and fact["where"] not in places:
                    yield key, fact


def revisions_with_facts(folder: Path) -> list[str]:
    """Return the pinned revisions that have facts, oldest first."""
    return [name for name in load_pins(folder) if _file(folder, name).is_file()]


def conditions(entries: Iterable[Json]) -> tuple[ConditionIR, ...]:
    """Return the conditions on members in the array `when` of a fact."""
    return tuple(
        ConditionIR(
            member=entry["member"],
            one_of=tuple(entry["one_of"]) if "one_of" in entry else None,
            or_absent=entry.get("or_absent", False),
        )
        for entry in entries
    )


def _file(folder: Path, revision: str) -> Path:
    return folder / revision / "facts.json"


def _read(path: Path) -> Json:
    document = parse_json(path.read_bytes(), str(path))
    return document if is_object(document) else {}


# basic/versioning: the first request of a client of each era.
_OPENING: Mapping[str, Era] = {"initialize": "handshake", "server/discover": "stateless"}


def era_of(schema: Mapping[str, Any]) -> Era | None:
    """Return the era of a snapshot by its methods; None if it is unclear."""
    eras: set[Era] = {_OPENING[method] for method in _OPENING.keys() & set(_methods(schema))}
    return eras.pop() if len(eras) == 1 else None


def _best_origin(
    revision: str, schema: Mapping[str, Any], eras: Mapping[str, Era], folder: Path, pins: Pins
) -> str | None:
    """Return the best origin for a schema called `revision`; None without candidates.

    `eras` has the era of each candidate.
    """
    era = era_of(schema)
    alike = [name for name, known_era in eras.items() if known_era == era]
    if not alike:
        return nearest_revision(revision, {name: pins[name] for name in eras})
    names = set(_names(schema))
    apart = {name: len(names ^ set(_names(pinned_structure(name, folder)))) for name in alike}
    closest = min(apart.values())
    return nearest_revision(revision, {n: pins[n] for n in alike if apart[n] == closest})


def _names(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the types and methods of a snapshot; their names never collide."""
    yield from _definitions(schema)
    yield from _methods(schema)


def _methods(schema: Mapping[str, Any]) -> Iterator[str]:
    for definition in _definitions(schema).values():
        value = _inside(_inside(_inside(definition, "properties"), "method"), "const")
        if isinstance(value, str):
            yield value


def _definitions(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    definitions = _inside(schema, "$defs")
    return definitions if is_object(definitions) else {}


def _inside(value: Any, member: str) -> Any:
    """Return a member of an unchecked value; None if it is not an object."""
    return value.get(member) if is_object(value) else None
