"""The inputs of an extension, read and checked: its schema, facts, patches and descriptions.

They are in `schema/extensions/<name>/`, as those of a revision are in its folder. What no schema
says is in the facts: which roles an extension binds, who has to declare it for a method, which
results it adds to methods of the revision (2026-07-28, basic/versioning).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import Problem, ProblemError, raise_errors
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.config import GenerationOptions, GivenFile
from mcp_protogen.inputs import metacheck, patches
from mcp_protogen.inputs.snapshot import snapshot_of

Json = dict[str, Any]

FOLDER = "extensions"
"""The folder of all extensions in the schema folder."""


@dataclass(frozen=True)
class ExtensionSource:
    """The inputs of one extension; the places name its files in problems."""

    name: str
    schema: Json
    facts: Json
    ledger: tuple[Json, ...]
    place: str
    ledger_place: str
    facts_place: str

    @property
    def identifier(self) -> str:
        """Return the name by which sides declare it."""
        identifier: str = self.facts["identifier"]
        return identifier

    @property
    def revisions(self) -> tuple[str, ...]:
        """The revisions that it extends."""
        return tuple(self.facts["revisions"])

    def methods(self, revision: str) -> Mapping[str, Json]:
        """Return the facts of the methods in a revision, by method."""
        facts: Mapping[str, Json] = self.facts.get("methods", {})
        return {method: fact for method, fact in facts.items() if _holds(fact, revision)}

    def of(self, kind: Literal["claims", "members"], revision: str) -> Mapping[str, Json]:
        """Return the facts of a kind that hold in a revision, by their JSON pointers."""
        facts: Sequence[Json] = self.facts.get(kind, ())
        return {
            f"/{kind}/{index}": fact for index, fact in enumerate(facts) if _holds(fact, revision)
        }

    @cached_property
    def descriptions(self) -> Mapping[str, Mapping[str, str]]:
        """Texts by kind and key, in the form of `schema/descriptions.json`."""
        texts: Mapping[str, Mapping[str, str]] = self.facts.get("descriptions", {})
        return texts


def _holds(fact: Json, revision: str) -> bool:
    return revision in fact.get("revisions", (revision,))


def load_all(options: GenerationOptions) -> tuple[ExtensionSource, ...]:
    """Return the extensions that are asked for, by name; raise `ProblemError` for unusable ones."""
    folder = schema_folder()
    return tuple(
        load(name, folder, options.extensions[name]) for name in sorted(options.extensions)
    )


def load(name: str, folder: Path, given: GivenFile | None = None) -> ExtensionSource:
    """Return the inputs of the extension `name`, whose schema may be `given`.

    Raise `ProblemError` if a file is missing or has not its form.
    """
    place = f"schema/{FOLDER}/{name}"
    home = folder / FOLDER / name
    if given is None:
        schema = _read(home / "schema.json", f"{place}/schema.json")
        schema_place = f"{place}/schema.json"
    else:
        schema_place = given.name
        schema = snapshot_of(parse_json(given.content, given.name), given.name)
        metacheck.check(schema, given.name)
    facts = _read(home / "facts.json", f"{place}/facts.json")
    raise_errors(tuple(wrong_facts(facts, f"{place}/facts.json")))
    return ExtensionSource(
        name=name,
        schema=schema,
        facts=facts,
        ledger=patches.ledger_of(folder / FOLDER, name),
        place=schema_place,
        ledger_place=f"{place}/patches.json",
        facts_place=f"{place}/facts.json",
    )


def _read(file: Path, place: str) -> Json:
    try:
        document = parse_json(file.read_bytes(), place)
    except FileNotFoundError:
        hint = "see schema/extensions for those that there are"
        problem = Problem("missing-facts", "this file does not exist", place, hint=hint)
        raise ProblemError(problem) from None
    return document if is_object(document) else {}


_ROLES = ("client", "server")
_KINDS = ("request", "notification")
# The members of each object of the facts, with what they hold; those with a mark may be absent.
_FACTS = {
    "identifier": "text", "revisions": "texts", "source": "text", "settings": "settings",
    "methods?": "methods", "claims?": "claims", "members?": "members", "errors?": "object",
    "descriptions?": "object", "enums?": "object", "open_strings?": "object", "unions?": "object",
    "$schema?": "text",
}  # fmt: skip
_METHOD = {
    "message": "text", "kind": "kind", "senders": "roles", "params": "text",
    "params_required": "flag", "results?": "texts", "phase": "text", "traits?": "texts",
    "declared_by": "roles", "name?": "text", "source": "text", "since?": "text",
    "revisions?": "texts",
}  # fmt: skip
_CLAIM = {
    "method": "text", "result_type": "text", "type": "text", "source": "text",
    "revisions?": "texts",
}  # fmt: skip
_MEMBER = {
    "type": "text", "method": "text", "from": "text", "source": "text", "revisions?": "texts",
}  # fmt: skip


def wrong_facts(facts: Json, place: str) -> Iterator[Problem]:
    """Yield a problem for each part of facts that has not the form of `extension-facts`."""
    for pointer, message in _wrong(facts, _FACTS, ""):
        hint = "schema/formats/extension-facts.schema.json describes the form"
        yield Problem("bad-form", message, place, pointer, hint)


def _wrong(value: Any, members: Mapping[str, str], pointer: str) -> Iterator[tuple[str, str]]:
    if not is_object(value):
        yield pointer, "this is not an object"
        return
    known = {name.rstrip("?"): kind for name, kind in members.items()}
    for name in members:
        if not name.endswith("?") and name not in value:
            yield pointer, f"{name} is missing"
    for name, inner in value.items():
        here = pointer + jsonpointer.join(name)
        if name in known:
            yield from _unlike(inner, known[name], here)
        else:
            yield here, f"facts of extensions have no member {name!r:.80} here"


def _unlike(value: Any, kind: str, pointer: str) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a value of the facts, which should be of a kind."""
    match kind:
        case "methods":
            if not is_object(value):
                yield pointer, "this is not an object"
                return
            for method, fact in value.items():
                yield from _wrong(fact, _METHOD, pointer + jsonpointer.join(method))
        case "claims" | "members":
            if not is_array(value):
                yield pointer, "this is not a list"
                return
            for index, one in enumerate(value):
                yield from _wrong(
                    one, _CLAIM if kind == "claims" else _MEMBER, f"{pointer}/{index}"
                )
        case "settings":
            if not is_object(value) or not all(
                role in _ROLES and is_object(one) for role, one in value.items()
            ):
                yield pointer, "this has not an object of settings for each role that it binds"
        case _:
            wanted, holds = _SIMPLE[kind]
            if not holds(value):
                yield pointer, f"this is not {wanted}"


def _texts(value: Any) -> bool:
    return is_array(value) and all(isinstance(one, str) for one in value)


def _roles(value: Any) -> bool:
    return _texts(value) and all(one in _ROLES for one in value)


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


_SIMPLE: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "flag": ("true or false", lambda value: isinstance(value, bool)),
    "kind": (f"one of {', '.join(_KINDS)}", _KINDS.__contains__),
    "object": ("an object", is_object),
    "roles": ("a list of client and server", _roles),
    "text": ("a text", _text),
    "texts": ("a list of texts", _texts),
}
