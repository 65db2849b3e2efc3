"""A model schema and its wires, as one schema: messages as they are in JSON-RPC.

The schema of a revision may be a model: its messages lack what transports add. `wires.json` beside
it then has a wire for each transport: types that the model lacks, and the places of all parts of
messages. The joined schema has the form of other schemas, and all that follows reads only that.
"""

import copy
import json
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import canonical, parse_json
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Problem, ProblemError, raise_errors, raising
from mcp_protogen.pipeline.inputs.facts import facts_for, origin_of
from mcp_protogen.pipeline.inputs.file_formats import check_format
from mcp_protogen.pipeline.inputs.snapshot import differences

Json = dict[str, Any]

FILE: Final = "wires.json"
_REFERENCE = "#/$defs/"
_OF_OBJECTS = ("properties", "required")
_OF_JSON_RPC = frozenset({"id", "jsonrpc", "method", "params"})
"""The members of messages with a method (JSON-RPC 2.0, section 4)."""


class _Part(NamedTuple):
    """A part of a message: its path, such as `metadata.meta`, and its schema."""

    path: str
    schema: Any
    required: bool


def with_wires(schema: Json, revision: str, folder: Path, place: str) -> Json:
    """Return the schema of a revision, joined with its wires if it is a model.

    `place` is its file. A model without wires of its own has those of the revision that it
    resembles. Raise `ProblemError`: `bad-form`, `wires-disagree`, or `bad-message` without wires.
    """
    owner = _find_owner(schema, revision, folder)
    if owner is not None:
        wires_place = f"schema/{owner}/{FILE}"
        document: Json = parse_json((folder / owner / FILE).read_bytes(), wires_place)
        raise_errors(check_format(document, "wires", wires_place))
        wires: Mapping[str, Json] = document["wires"]
        if any(schema["$defs"].keys() & wire["messages"].keys() for wire in wires.values()):
            schema = join(schema, wires, place, wires_place)
            _refuse_other_headers(wires, facts_for(folder, owner, schema).document, wires_place)
    _refuse_model(schema, place)
    return schema


def _find_owner(schema: Json, revision: str, folder: Path) -> str | None:
    """Return the revision whose wires a schema has, if it is a model."""
    owners = {file.parent.name for file in folder.glob(f"*/{FILE}")}
    is_own = not owners or revision in owners
    owner = revision if is_own else origin_of(folder, revision, schema)
    return owner if owner in owners else None


def join(model: Json, wires: Mapping[str, Json], place: str, wires_place: str) -> Json:
    """Return a model schema with messages as they are on all wires, by names of transports.

    Raise `ProblemError` (`wires-disagree`) with each part of the model without a place, each place
    with two meanings, and each difference between wires.
    """
    _refuse_ambiguous_places(wires, wires_place)
    joining = _Joining(model, wires, place, wires_place)
    joining.join_all()
    raise_errors(joining.problems)
    joined: Json = json.loads(canonical({**model, "$defs": joining.definitions}))
    return joined


@raising
def _refuse_ambiguous_places(wires: Mapping[str, Json], place: str) -> Iterator[Problem]:
    """Raise `ProblemError` for places of two parts, and for what differs between wires."""
    for pointer, part, places in _find_places(wires):
        taken = {used for name in places if name != part for used in places[name]}
        for twice in sorted(taken.intersection(places[part])):
            message = f"another part has the place {twice:.80}, too"
            yield Problem("wires-disagree", message, place, pointer)
    (first, as_first), *rest = ((name, _in_json(wire)) for name, wire in wires.items())
    hint = "messages have one form in a revision: write the same for all wires"
    for name, wire in rest:
        for inner in differences(as_first, wire):
            message, pointer = f"{name} does not carry this as {first} does", "/wires"
            pointer += jsonpointer.join(name) + inner
            yield Problem("wires-disagree", message, place, pointer, hint)


def _find_places(wires: Mapping[str, Json]) -> Iterator[tuple[str, str, Mapping[str, list[str]]]]:
    """Yield each part of each kind of messages: its pointer and path, and the places of all."""
    for name, wire in wires.items():
        for type_, kind in wire["messages"].items():
            for part in kind["places"]:
                pointer = jsonpointer.join("wires", name, "messages", type_, "places", part)
                yield pointer, part, kind["places"]


def _in_json(wire: Json) -> Json:
    """Return a wire without the places of parts in headers."""
    wire = copy.deepcopy(wire)
    for kind in wire["messages"].values():
        kind["places"] = {part: _pointers(places) for part, places in kind["places"].items()}
    return wire


def _pointers(places: Iterable[str]) -> list[str]:
    return [place for place in places if place.startswith("/")]


@raising
def _refuse_other_headers(wires: Mapping[str, Json], facts: Json, place: str) -> Iterator[Problem]:
    """Raise `ProblemError` for transports and headers that the facts lack or describe otherwise."""
    for name in sorted(wires.keys() - facts.get("transports", {}).keys()):
        message, pointer = "facts.json has no such transport", jsonpointer.join("wires", name)
        yield Problem("wires-disagree", message, place, pointer)
    sides: Mapping[str, Json] = facts.get("headers", {})
    headers: Json = {name: fact for side in sides.values() for name, fact in side.items()}
    for pointer, part, places in _find_places(wires):
        members = [jsonpointer.split(inner)[-1] for inner in _pointers(places[part])]
        for header in (name for name in places[part] if not name.startswith("/")):
            repeats: Json = headers.get(header, {}).get("repeats", {})
            repeated = repeats.get("member", repeats.get("meta"))
            if header not in headers:
                message = f"facts.json has no header {header}"
                yield Problem("wires-disagree", message, place, pointer)
            elif repeated is not None and repeated not in members:
                message = f"{header} repeats {repeated} by facts.json, not {part}"
                yield Problem("wires-disagree", message, place, pointer)


def _refuse_model(schema: Json, place: str) -> None:
    """Raise `ProblemError` (`bad-message`) if messages require what JSON-RPC does not have."""
    foreign = {
        name: _required_names(type_) - _OF_JSON_RPC
        for name, type_ in schema["$defs"].items()
        if is_object(type_)
        and is_object(method := type_.get("properties", {}).get("method"))
        and "const" in method
    }
    names = [name for name, members in foreign.items() if members]
    if names:
        members = ", ".join(sorted(foreign[names[0]]))
        message = f"{len(names)} messages require members that JSON-RPC lacks: {members:.80}"
        hint = "a model without JSON-RPC is read with wires.json, which says where its parts are:"
        hint += " pin it, and write that file; see schema/formats/wires.schema.json"
        at = jsonpointer.join("$defs", names[0])
        raise ProblemError(Problem("bad-message", message, place, at, hint))


class _Joining:
    """The join of one model; `definitions` becomes the result."""

    def __init__(
        self, model: Json, wires: Mapping[str, Json], place: str, wires_place: str
    ) -> None:
        self.definitions: Json = copy.deepcopy(model["$defs"])
        self.problems: list[Problem] = []
        self._place, self._wires_place = place, wires_place
        self._name, wire = next(iter(wires.items()))
        self._kinds: Mapping[str, Json] = wire["messages"]
        self._types: Mapping[str, Json] = wire["types"]
        self._left_out = {*self._kinds}
        """The types of the model that the joined schema lacks."""

    def join_all(self) -> None:
        """Put the types of the wire beside those of the model, and parts into their places."""
        messages = self._find_messages()
        for name, added in self._types.items():
            self._add_type(name, copy.deepcopy(added))
        for name, type_ in messages.items():
            self.definitions[name] = self._join_message(name, type_)
        for name in self._left_out:
            self.definitions.pop(name, None)

    def _find_messages(self) -> Mapping[str, str]:
        """Return the kinds of all messages, and of the types that tell the kinds."""
        messages: dict[str, str] = {}
        for type_, kind in self._kinds.items():
            wire_type = self._types.get(kind["type"])
            if not is_object(self.definitions.get(type_)):
                self._refuse("the model has no such type", "messages", type_)
            elif wire_type is None or (kind["names"] and "properties" not in wire_type):
                self._refuse("this wire has no such type of messages", "messages", type_, "type")
            elif kind["names"]:
                messages[type_] = type_
        names = {type_: self._kinds[type_]["names"] for type_ in messages}
        required = {type_: _required_names(self.definitions[type_]) for type_ in messages}
        for name in sorted(self.definitions.keys() - self._kinds.keys()):
            own = _required_names(self.definitions[name])
            alike = [type_ for type_, members in required.items() if members and members <= own]
            kinds = [type_ for type_ in alike if any(map(partial(fnmatchcase, name), names[type_]))]
            if len(kinds) == 1:
                messages[name] = kinds[0]
            elif alike:
                of = " and ".join(kinds) or "no kind"
                hint = f"see the names of kinds in {self._wires_place}"
                self._refuse_type(name, f"by its name, this is a message of {of}", hint)
        return messages

    def _add_type(self, name: str, added: Json) -> None:
        known: Any = self.definitions.setdefault(name, {})
        if not is_object(known):
            self._refuse("the model has another", "types", name)
            return
        members: Json = known.setdefault("properties", {}) if "properties" in added else {}
        rest = {key: value for key, value in added.items() if key not in _OF_OBJECTS}
        for holder, values, at in (
            (known, rest, ()),
            (members, added.get("properties", {}), ("properties",)),
        ):
            for key, value in values.items():
                if holder.setdefault(key, value) != value:
                    self._refuse("the model has another", "types", name, *at, key)
        _require(known, added.get("required", ()))

    def _join_message(self, name: str, type_: str) -> Json:
        """Return a message of the model as it is on the wire."""
        kind, message = self._kinds[type_], self.definitions[name]
        pointers = {part: _pointers(places) for part, places in kind["places"].items()}
        parts = [*self._find_parts(message, name, kind["places"])]
        absent = pointers.keys() - {part.path for part in parts} if name == type_ else ()
        for part in sorted(absent):
            self._refuse(f"{type_} has no such part", "messages", type_, "places", part)
        filled = {jsonpointer.split(place)[0] for places in pointers.values() for place in places}
        wire_type: Json = copy.deepcopy(self._types[kind["type"]])
        for step in filled:
            wire_type["properties"].pop(step, None)
        rest = {key: value for key, value in message.items() if key not in _OF_OBJECTS}
        required = sorted(_required_names(wire_type) - filled)
        joined = {**wire_type, **rest, "required": required}
        placed = {place: part for part in parts for place in pointers[part.path]}
        for place, part in placed.items():
            inside = (placed[name].required for name in placed if name.startswith(f"{place}/"))
            placed[place] = part._replace(required=part.required or any(inside))
        # What is inside others comes first, so that these are whole when they meet their equals.
        for place in sorted(placed, reverse=True):
            holders = (holder for holder in placed if place.startswith(f"{holder}/"))
            around = max(holders, default="")
            holder = placed[around].schema if around else joined
            steps, part = jsonpointer.split(place.removeprefix(around)), placed[place]
            for fault in sorted({*self._put(holder, steps, part)}):
                self._refuse(f"{name}: {fault}", "messages", type_, "places", part.path)
        return joined

    def _find_parts(
        self, schema: Json, name: str, places: Json, path: str = "", required: bool = True
    ) -> Iterator[_Part]:
        """Yield the parts of a message; objects without a place are those that hold parts."""
        for member, inner in schema.get("properties", {}).items():
            inside = f"{path}{member}"
            is_required = required and member in _required_names(schema)
            held, names = self._resolve(inner)
            holds_parts = any(part.startswith(f"{inside}.") for part in places)
            if inside in places:
                yield _Part(inside, inner, is_required)
            elif is_object(held) and (holds_parts or held.get("properties") == {}):
                self._left_out |= names
                yield from self._find_parts(held, name, places, f"{inside}.", is_required)
            else:
                hint = f"write it at the places of this kind in {self._wires_place}"
                self._refuse_type(name, f"{inside} has no place on {self._name}", hint)

    def _put(self, holder: Any, steps: list[str], part: _Part) -> Iterator[str]:
        """Put a part into all objects that a schema allows; yield why that is impossible."""
        name, *inner = steps
        for schema in self._find_arms(holder):
            if not is_object(schema) or schema.get("type", "object") != "object":
                yield f"what is around {part.path} is not an object"
                continue
            members: Json = schema.setdefault("properties", {})
            if inner:
                yield from self._put(members.setdefault(name, {"type": "object"}), inner, part)
            elif name not in members:
                members[name] = part.schema
            elif (members[name], name in _required_names(schema)) != part[1:]:
                yield f"another value than {part.path} has its place"
            _require(schema, [name] if part.required else [])

    def _find_arms(self, schema: Any) -> Iterator[Any]:
        """Yield a schema, or the arms of a union; each type once."""
        waiting, seen = [schema], set[str]()
        while waiting:
            found, names = self._resolve(waiting.pop())
            if names.isdisjoint(seen):
                seen |= names
                if is_object(found) and "anyOf" in found and "properties" not in found:
                    waiting += found["anyOf"]
                else:
                    yield found

    def _resolve(self, schema: Any) -> tuple[Any, frozenset[str]]:
        """Return the schema behind references, with the names of the types on the way."""
        names: list[str] = []
        while is_object(schema) and str(schema.get("$ref")).startswith(_REFERENCE):
            name = schema["$ref"].removeprefix(_REFERENCE)
            if name in names or name not in self.definitions:
                break  # normalisation refuses it
            names.append(name)
            schema = self.definitions[name]
        return schema, frozenset(names)

    def _refuse(self, message: str, *at: str) -> None:
        pointer = jsonpointer.join("wires", self._name, *at)
        self.problems.append(Problem("wires-disagree", message, self._wires_place, pointer))

    def _refuse_type(self, name: str, message: str, hint: str) -> None:
        pointer = jsonpointer.join("$defs", name)
        self.problems.append(Problem("wires-disagree", message, self._place, pointer, hint))


def _required_names(schema: Any) -> frozenset[str]:
    return frozenset(schema.get("required", ())) if is_object(schema) else frozenset()


def _require(schema: Json, names: Iterable[str]) -> None:
    if required := _required_names(schema).union(names):
        schema["required"] = sorted(required)
