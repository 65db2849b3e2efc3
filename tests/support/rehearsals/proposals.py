"""Proposals as data: the files of `schema/rehearsals`, and the published schema that each makes.

A file has the `source` of a proposal, its `base`, the `page` that its entries name, new `types`,
`arms` of unions, and `members` to `add`, `require` or `remove`; then `facts` (a JSON Merge Patch),
`rules`, `errors` and `became` as in the files of a revision, and `left_out`: what no format has a
word for yet. `extensions` have new `types` and `facts` by name, and rules in `translation`; types
of messages that they lack follow from the methods. `split` makes a model and its wires of the
schema (`splitting`). `modules` are those of new transports, from the folder `transports` beside
this file. Tests also give a whole `schema`.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base.jsonvalue import merge_patch
from mcp_protogen.pipeline.inputs.snapshot import DIALECT
from support.folders import ROOT
from support.generated.absorbing_revision import ABSORBED, add_extension
from support.json_types import read_json
from support.rehearsals.splitting import split

Json = dict[str, Any]

FOLDER: Final = ROOT / "schema" / "rehearsals"
COMBINATIONS: Final = FOLDER / "combinations.json"


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """One proposal, or several that are tried together."""

    name: str
    parts: tuple[Json, ...]

    @property
    def base(self) -> str:
        (base,) = {part["base"] for part in self.parts if "base" in part}
        return str(base)

    @property
    def page(self) -> str:
        """The page that entries without one name."""
        return str(self.parts[0]["page"])

    def collect(self, key: str) -> list[Any]:
        """Return the entries of a list of all proposals."""
        return [entry for part in self.parts for entry in part.get(key, ())]

    def facts(self) -> Json:
        """Return the facts that they add or change."""
        stated = (part.get("facts", {}) for part in self.parts)
        return reduce(merge_patch, stated, {"inherits": self.base})

    def translation(self) -> Json | None:
        """Return the rules that they decide; None without any."""
        became: Json = reduce(merge_patch, (part.get("became", {}) for part in self.parts), {})
        rules = {key: self.collect(key) for key in ("rules", "errors")}
        if not became and not any(rules.values()):
            return None
        return {"older": self.base, "became": became, **rules}

    def extensions(self) -> Json:
        """Return the types and facts of the extensions that they add or change, by name."""
        return reduce(merge_patch, (part.get("extensions", {}) for part in self.parts), {})

    def publish(self, schema: Json) -> Json:
        """Return the schema of the base as these proposals would publish it."""
        given = reduce(lambda before, part: part.get("schema", before), self.parts, schema)
        published: Json = json.loads(json.dumps(given))
        types: Json = published["$defs"]
        if ABSORBED in self.collect("absorbs"):
            add_extension(types)
        for part in self.parts:
            types |= part.get("types", {})
        for part in self.parts:
            for union, arms in part.get("arms", {}).items():
                types[union]["anyOf"] += [{"$ref": f"#/$defs/{arm}"} for arm in arms]
            for path, change in part.get("members", {}).items():
                _change_members(_type_at(types, path), change)
        return published

    def split(self, published: Json) -> tuple[Json, Json | None]:
        """Return the published schema and, if these proposals split it, its wires."""
        for part in self.parts:
            if "split" in part:
                return split(published, {**part["split"], "types": part["types"]})
        return published, None


def publish_extension(folder: Path, change: Json) -> tuple[Json, Json]:
    """Return the schema and facts of an extension with new types, messages and facts.

    `folder` has its former ones, if it exists.
    """
    schema: Json = {"$schema": DIALECT, "$defs": {}}
    facts: Json = {}
    if folder.is_dir():
        schema, facts = read_json(folder / "schema.json"), read_json(folder / "facts.json")
    messages = {
        fact["message"]: _make_message(method, fact)
        for method, fact in change["facts"].get("methods", {}).items()
    }
    types = {**schema["$defs"], **messages, **change["types"]}
    return {**schema, "$defs": types}, merge_patch(facts, change["facts"])


def _make_message(method: str, fact: Json) -> Json:
    constants = {"jsonrpc": "2.0", "method": method}
    members = {name: {"type": "string", "const": value} for name, value in constants.items()}
    if fact["kind"] == "request":
        members["id"] = {"$ref": "#/$defs/RequestId"}
    required = [*members, *(["params"] if fact["params_required"] else [])]
    members["params"] = {"$ref": f"#/$defs/{fact['params']}"}
    return {"type": "object", "properties": members, "required": required}


def _type_at(types: Json, path: str) -> Json:
    owner, *members = path.split(".")
    return reduce(lambda type_, member: type_["properties"][member], members, types[owner])


def _change_members(type_: Json, change: Json) -> None:
    removed: Sequence[str] = change.get("remove", ())
    type_["properties"] |= change.get("add", {})
    for name in removed:
        del type_["properties"][name]
    required = {*type_.get("required", ()), *change.get("require", ())} - {*removed}
    if required:
        type_["required"] = sorted(required)
    else:
        type_.pop("required", None)


def rehearsals() -> Iterator[Rehearsal]:
    """Yield each proposal alone, then their combinations."""
    parts = {path.stem: read_json(path) for path in sorted(FOLDER.glob("*.json"))}
    combinations = parts.pop(COMBINATIONS.stem)["combinations"]
    for name, part in parts.items():
        yield Rehearsal(name, (part,))
    for name, members in combinations.items():
        # A member that is an object changes the others, where they exclude each other.
        chosen = (parts[member] if isinstance(member, str) else member for member in members)
        yield Rehearsal(f"together: {name}", tuple(chosen))
