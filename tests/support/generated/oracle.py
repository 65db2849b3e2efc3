"""The verdict of a revision's schema by `jsonschema`, against which models are tested.

The schema is the committed snapshot, with wires and patches. Where the models differ from it on
purpose, `WANTED` changes the schema, so that the difference itself is tested too.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import islice
from typing import Any

from mcp_protogen.base import jsonpointer, names
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.pipeline.inputs import patches
from mcp_protogen.pipeline.inputs.wires import with_wires
from support.folders import ROOT
from support.generated.golden_package import EXTENDED, REVISIONS, load
from support.generated.instances import smallest
from support.json_types import read_json

validators: Any = import_module("jsonschema.validators")  # has types in part

Json = dict[str, Any]

CONTENT = {
    "TextContent": "text",
    "ImageContent": "image",
    "AudioContent": "audio",
    "ResourceLink": "resource_link",
    "EmbeddedResource": "resource",
    "ToolUseContent": "tool_use",
    "ToolResultContent": "tool_result",
}


_OPEN_ARM = "x-open-arm"


@dataclass(frozen=True, slots=True)
class Subject:
    """A generated type, and the place of its schema."""

    name: str
    pointer: str


def _open_content(document: Json) -> None:
    for _, schema in list(jsonpointer.walk(document["$defs"], "/$defs")):
        if not is_object(schema) or not is_array(schema.get("anyOf")):
            continue
        arms: list[Json] = schema["anyOf"]
        kinds = [str(arm.get("$ref", "")).rpartition("/")[2] for arm in arms]
        tags = [CONTENT[kind] for kind in kinds if kind in CONTENT]
        if len(tags) > 1:
            tag = {"type": "string", "not": {"enum": tags}}
            members = {"properties": {"type": tag}, "required": ["type"]}
            arms.append({"type": "object", **members, _OPEN_ARM: True})


def _any_json_schema(document: Json) -> None:
    members: Json = document["$defs"]["Tool"]["properties"]
    for member in {"inputSchema", "outputSchema"} & members.keys():
        members[member] = {"type": "object"}


WANTED: tuple[tuple[str, Callable[[Json], None]], ...] = (
    (
        "a later revision adds kinds of content, and a reader keeps those it does not know",
        _open_content,
    ),
    ("one tool with a broken schema must not make the whole list unreadable", _any_json_schema),
)
"""Why the models differ from the schema on purpose, and the schema that says what they do."""


_LARGEST = 2**53 - 1
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def _of_extension(document: Json, facts: Json) -> None:
    """Write the schemas of extensions as those of revisions are written."""
    for _, schema in list(jsonpointer.walk(document["$defs"], "/$defs")):
        if is_object(schema):
            for keyword, nothing in (
                *(("propertyNames", {"type": "string"}), ("$schema", _DIALECT)),
                # Integers beyond these are read exactly, too: see docs/models.md.
                *(("minimum", -_LARGEST), ("maximum", _LARGEST)),
            ):
                if schema.get(keyword) == nothing:
                    del schema[keyword]
    for member in facts.get("members", ()):
        added, core = document["$defs"][member["from"]], f"#/$defs/{member['type']}"
        document["$defs"][member["from"]] = {"allOf": [{"$ref": core}, added]}


def _without_sources(facts: Json) -> Json:
    definitions: Json = deepcopy(facts["$defs"])
    for definition in definitions.values():
        del definition["source"]
    return definitions


@cache
def _extension(name: str) -> Json:
    folder = ROOT / "schema" / "extensions" / name
    facts, written = read_json(folder / "facts.json"), folder / "schema.json"
    # Some have no published schema: their facts have the types.
    found = read_json(written) if written.is_file() else {"$defs": _without_sources(facts)}
    if (folder / "patches.json").is_file():
        entries: list[Json] = read_json(folder / "patches.json")["patches"]
        found = patches.apply(found, entries, str(folder))
    if "types" in facts:
        found["$defs"] = {name: found["$defs"][name] for name in facts["types"]["names"]}
    _of_extension(found, facts)
    return found


@cache
def patch_snapshot(revision: str) -> Json:
    revision, _, extension = revision.partition("+")
    if extension:
        core = patch_snapshot(revision)
        return {"$defs": {**_extension(extension)["$defs"], **core["$defs"]}}
    folder = ROOT / "schema" / revision
    entries: list[Json] = read_json(folder / "patches.json")["patches"]
    published = read_json(folder / "schema.json")
    return patches.apply(
        with_wires(published, revision, folder.parent, str(folder)), entries, str(folder)
    )


@cache
def document(revision: str) -> Json:
    """The patched schema of a revision with the wanted differences."""
    schema = deepcopy(patch_snapshot(revision))
    for _, change in WANTED:
        change(schema)
    return schema


def schema_of(revision: str, subject: Subject) -> Json:
    """The part of the schema that `subject` stands for."""
    schema: Json = jsonpointer.get(document(revision), subject.pointer)
    return schema


@cache
def accepts(revision: str, pointer: str) -> Callable[[Any], bool]:
    """Return whether the schema at `pointer` accepts a value; formats are annotations only."""
    schema = jsonpointer.get(document(revision), pointer)
    validator: Any = _validator_class(revision)(schema)
    is_valid: Callable[[Any], bool] = validator.is_valid
    return is_valid


@cache
def _validator_class(revision: str) -> Any:
    return make_validator_class(document(revision)["$defs"])


def make_validator_class(definitions: Json, **keywords: Any) -> Any:
    """Return a class of validators that look up definitions, with further keywords."""
    # Edited values share what they leave alone. Kept here, so that no other value gets its id.
    known: dict[tuple[str, int], tuple[object, list[object]]] = {}

    def follow(validator: Any, reference: str, value: object, _: Json) -> Iterator[object]:
        if (reference, id(value)) not in known:
            if len(known) > 10_000:
                known.clear()
            schema = definitions[reference.removeprefix("#/$defs/")]
            first = [*islice(validator.descend(value, schema), 1)]
            known[reference, id(value)] = value, first
        yield from known[reference, id(value)][1]

    return validators.extend(validators.Draft202012Validator, {"$ref": follow, **keywords})


@cache
def subjects(revision: str) -> dict[str, Subject]:
    """Return all definitions and unnamed objects, by Python name."""
    found: dict[str, Subject] = {}
    definitions: Json = document(revision)["$defs"]
    core, _, extension = revision.partition("+")
    others: Json = patch_snapshot(core)["$defs"] if extension else {}
    for name, schema in definitions.items():
        if name in others:
            continue
        python = names.type_name(name)
        pointer = jsonpointer.join("$defs", name)
        found[python] = Subject(python, pointer)
        for inline in _inline(python, schema, pointer):
            found[inline.name] = inline
    shared = [name for name in found if _is_shared_metadata(name, found, definitions)]
    return {name: subject for name, subject in found.items() if name not in shared}


def changed_subjects(revision: str) -> Iterator[Subject]:
    """Yield the subjects that no later revision has with the same schema and the same members."""
    core, plus, extension = revision.partition("+")
    later = [f"{newer}{plus}{extension}" for newer in REVISIONS if newer > core]
    for subject in subjects(revision).values():
        described = _describe(revision, subject)
        if not any(
            subjects(name).get(subject.name) == subject and _describe(name, subject) == described
            for name in later
            if not extension or name in EXTENDED
        ):
            yield subject


def _describe(revision: str, subject: Subject) -> tuple[Json, object]:
    model = getattr(load(revision).models, subject.name)
    return schema_of(revision, subject), repr(getattr(model, "model_fields", model))


def _is_shared_metadata(name: str, found: dict[str, Subject], definitions: Json) -> bool:
    """Return whether an inline `_meta` is that of a base type, which shares its class."""

    def members(of: str) -> object:
        return jsonpointer.get({"$defs": definitions}, found[of].pointer).get("properties")

    return (
        name.endswith("Meta")
        and name not in definitions
        and any(
            name.endswith(base) and members(name) == members(base) for base in found.keys() - {name}
        )
    )


def _inline(name: str, schema: Json, pointer: str) -> Iterator[Subject]:
    """Return the objects inside `schema`, named after the members that lead to them."""
    if "allOf" in schema:
        for number, part in enumerate(schema["allOf"]):
            yield from _inline(name, part, f"{pointer}/allOf/{number}")
    for member, value in schema.get("properties", {}).items():
        inner = name + names.pascal(member)
        yield from _nameless(inner, value, f"{pointer}/properties/{jsonpointer.join(member)[1:]}")


def _nameless(name: str, schema: Json, pointer: str) -> Iterator[Subject]:
    if _OPEN_ARM in schema:
        return
    if schema.get("properties") or "allOf" in schema:
        yield Subject(name, pointer)
        yield from _inline(name, schema, pointer)
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield from _nameless(name, schema[keyword], f"{pointer}/{keyword}")
    for number, arm in enumerate(schema.get("anyOf", ())):
        yield from _nameless(name, arm, f"{pointer}/anyOf/{number}")


def smallest_request(revision: str, subject: Subject) -> Json:
    """Return the smallest message; wanted differences only help readers."""
    document_ = patch_snapshot(revision)
    schema: Json = jsonpointer.get(document_, subject.pointer)
    least: Json = smallest(document_, schema)
    return least
