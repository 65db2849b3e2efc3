"""The inputs of an extension, read and checked: its schema, facts, patches and descriptions.

They are in `schema/extensions/<name>/`. The facts have the information that schemas lack: the roles
that an extension binds, the sides that must declare it for a method, and the results that it adds
to methods of the revision (2026-07-28, basic/versioning). If no schema is published, the facts also
have the types, each with its page.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from mcp_protogen.base.canonical import parse_json, pretty
from mcp_protogen.base.problems import Problem, ProblemError, raise_errors, raising
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import Docstrings, GenerationOptions, GivenFile
from mcp_protogen.pipeline.inputs import file_formats, metacheck, patches
from mcp_protogen.pipeline.inputs.absorbed import applies
from mcp_protogen.pipeline.inputs.pinned_extensions import (
    TYPES,
    extension_facts,
    pinned_extension,
)
from mcp_protogen.pipeline.inputs.pins import (
    EXTENSION,
    extension_place,
    extensions_folder,
    pinned_structure,
)
from mcp_protogen.pipeline.inputs.snapshot import DIALECT
from mcp_protogen.pipeline.inputs.sources import parse_schema
from mcp_protogen.pipeline.inputs.translations import Translation, read_translation

Json = dict[str, Any]


class FactsOfRevision(NamedTuple):
    """Facts of an extension: methods by name, claims and members by their JSON pointers."""

    methods: Mapping[str, Json]
    claims: Mapping[str, Json]
    members: Mapping[str, Json]


@dataclass(frozen=True)
class ExtensionSource:
    """The inputs of one extension; the places name its files in problems.

    `own` are the descriptions in a schema of the user.
    """

    name: str
    schema: Json
    facts: Json
    patches: tuple[Json, ...]
    place: str
    patches_place: str
    facts_place: str
    rules: Translation | None = None
    """Those that translate between the version from which it inherits, and this one."""
    own: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def identifier(self) -> str:
        """The name with which sides declare it."""
        identifier: str = self.facts["identifier"]
        return identifier

    @property
    def revisions(self) -> tuple[str, ...]:
        """The revisions that it extends."""
        return tuple(self.facts["revisions"])

    @property
    def newest(self) -> str:
        """The newest revision that it extends."""
        return max(self.revisions)

    def facts_of(self, revision: str) -> "FactsOfRevision":
        """Return the facts for a revision."""
        methods: Mapping[str, Json] = self.facts.get("methods", {})
        claims, members = (
            {
                f"/{kind}/{index}": fact
                for index, fact in enumerate(self.facts.get(kind, ()))
                if applies(fact, revision)
            }
            for kind in ("claims", "members")
        )
        facts = {method: fact for method, fact in methods.items() if applies(fact, revision)}
        return FactsOfRevision(facts, claims, members)

    @cached_property
    def descriptions(self) -> Mapping[str, Mapping[str, str]]:
        """Texts by kind and key, in the format of `schema/descriptions.json`."""
        texts: Mapping[str, Mapping[str, str]] = self.facts.get("descriptions", {})
        return texts


def load_all(options: GenerationOptions) -> tuple[ExtensionSource, ...]:
    """Return the requested extensions, by name; raise `ProblemError` for unusable ones."""
    folder = schema_folder()
    if options.docstrings is Docstrings.SCHEMA:
        _refuse_missing_texts(options, folder)
    return tuple(
        load(name, folder, options.extensions[name]) for name in sorted(options.extensions)
    )


@raising
def _refuse_missing_texts(options: GenerationOptions, folder: Path) -> Iterator[Problem]:
    """Raise `ProblemError` for each extension without the published text that the user wants."""
    for name in sorted(options.extensions):
        if options.extensions[name] is None and pinned_extension(name, folder).pin is not None:
            message = f"--docstrings schema needs texts, and our snapshot of {name} has none"
            hint = f"give the published file: --extension {name}=FILE"
            yield Problem("no-published-text", message, hint=hint)


def load(name: str, folder: Path, source: GivenFile | None = None) -> ExtensionSource:
    """Return the inputs of the extension `name`; `source` replaces its schema.

    Raise `ProblemError` if a file is missing, malformed, or does not match its pin.
    """
    home, facts_place = extensions_folder(folder), extension_place(name)
    facts = extension_facts(name, folder)
    if not facts:
        hint = "see schema/extensions for the available ones"
        problem = Problem("missing-facts", "this file does not exist", facts_place, hint=hint)
        raise ProblemError(problem)
    raise_errors(file_formats.check_format(facts, "extension-facts", facts_place))
    descriptions: Mapping[str, str] = {}
    if source is not None:
        schema_place = source.name
        structure, descriptions = parse_schema(source)
        # Generated members are sorted by name, as in snapshots.
        schema = parse_json(pretty(structure), source.name)
    elif TYPES in facts:
        schema_place = facts_place
        schema = schema_in_facts(facts)
        metacheck.check(schema, schema_place)
    else:
        schema_place = extension_place(name, "schema.json")
        schema = pinned_structure(name, home, EXTENSION)
    return ExtensionSource(
        name=name,
        schema=schema,
        facts=facts,
        patches=patches.load_patches(home, name),
        place=schema_place,
        patches_place=extension_place(name, "patches.json"),
        facts_place=facts_place,
        rules=_load_rules(name, folder, facts),
        own=descriptions,
    )


def has_rules(name: str, folder: Path) -> bool:
    """Return whether rules translate between an extension and the version before it."""
    return _rules_file(name, folder).is_file()


def _rules_file(name: str, folder: Path) -> Path:
    return extensions_folder(folder) / name / "translation.json"


def _load_rules(name: str, folder: Path, facts: Json) -> Translation | None:
    if not has_rules(name, folder):
        return None
    file = _rules_file(name, folder)
    place = extension_place(name, file.name)
    rules = read_translation(parse_json(file.read_bytes(), place), name, place)
    if rules.older != facts.get("inherits"):
        message = f"{name} does not inherit from {rules.older!r:.80}"
        hint = "name the version in its facts: inherits"
        raise ProblemError(Problem("bad-rule", message, place, "/older", hint))
    return rules


def schema_in_facts(facts: Json) -> Json:
    """Return the schema in the facts of an extension without a published schema."""
    definitions: Mapping[str, Json] = facts[TYPES]
    types = {
        name: {keyword: value for keyword, value in schema.items() if keyword != "source"}
        for name, schema in definitions.items()
    }
    return {"$schema": DIALECT, TYPES: types}
