"""Extensions that became part of the core: the facts of a revision that absorbs them.

The facts of the extension in its last revision stand between those that the revision inherits and
its own, so that these have only the differences.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import merge_patch
from mcp_protogen.base.problems import Problem, ProblemError, raise_errors
from mcp_protogen.pipeline.inputs.file_formats import check_format
from mcp_protogen.pipeline.inputs.pinned_extensions import extension_facts
from mcp_protogen.pipeline.inputs.pins import EXTENSION, extension_place

Json = dict[str, Any]

SHARED_FACTS: Final = ("enums", "errors", "open_strings", "places", "unions")
"""Facts of an extension that mean the same as those of a revision."""
_OF_EXTENSIONS = frozenset({"declared_by", "principal", "revisions", "setting", "version"})
"""Members of the facts of a method that only extensions have."""


def merge_facts(inherited: Json, own: Json, revision: str, folder: Path) -> Json:
    """Return the facts of a revision: inherited ones, those of absorbed extensions, and its own.

    Raise `ProblemError` (`unknown-extension`) for an extension without facts.
    """
    absorbed: Mapping[str, Json | None] = own.get("absorbs", {})
    for name, fact in absorbed.items():
        if fact is not None:
            extension = read_extension(name, revision, folder)
            core = _core_facts(name, extension, inherited, own, revision)
            inherited = merge_patch(inherited, core)
    merged: Json = merge_patch(inherited, own)
    return merged


def texts_of_absorbed(document: Json) -> dict[str, dict[str, str]]:
    """Return the texts about absorbed extensions in merged facts, by kind and key."""
    texts: dict[str, dict[str, str]] = {}
    for fact in document.get("absorbs", {}).values():
        for kind, entries in fact.get("descriptions", {}).items():
            texts.setdefault(kind, {}).update(entries)
    return texts


def facts_of_methods(extension: Json, extended: str, since: str) -> Json:
    """Return the facts of the methods that an extension adds to a revision, as those of its own."""
    return {
        method: {
            "since": since,
            **{member: value for member, value in fact.items() if member not in _OF_EXTENSIONS},
        }
        for method, fact in extension.get("methods", {}).items()
        if applies(fact, extended)
    }


def applies(fact: Json, revision: str) -> bool:
    """Return whether a fact of an extension is about a revision."""
    return revision in fact.get("revisions", (revision,))


def read_extension(name: str, revision: str, folder: Path) -> Json:
    """Return the facts of an extension that a revision absorbs.

    Raise `ProblemError`: `unknown-extension` without any, or `bad-form`.
    """
    facts = extension_facts(name, folder)
    if not facts:
        message = f"the extension {name!r:.80} has no facts"
        place, pointer = f"schema/{revision}/facts.json", jsonpointer.join("absorbs", name)
        hint = f"name one that has: see the folders of schema/{EXTENSION.member}"
        raise ProblemError(Problem(EXTENSION.unknown, message, place, pointer, hint))
    raise_errors(check_format(facts, "extension-facts", extension_place(name)))
    return facts


def _core_facts(name: str, extension: Json, inherited: Json, own: Json, revision: str) -> Json:
    newest = max(extension["revisions"])
    facts: Json = {kind: extension[kind] for kind in SHARED_FACTS if kind in extension}
    methods = facts_of_methods(extension, newest, revision)
    # Servers declare the capability of its name, if there is one; no message needs that.
    source = own["absorbs"][name]["source"]
    if name in own.get("capabilities", {}).get("server", {}):
        gate = {"requires": {f"server.{name}": {"level": "SHOULD", "source": source}}}
        methods = {method: {**fact, **gate} for method, fact in methods.items()}
    result_type: Json = dict(inherited.get("rules", {}).get("result_type", {}))
    claimed: dict[str, list[str]] = {}
    for claim in extension.get("claims", ()):
        if applies(claim, newest):
            claimed.setdefault(claim["method"], []).append(claim["type"])
            values = [*result_type.get("values", ()), claim["result_type"]]
            result_type["values"] = list(dict.fromkeys(values))
    for method, types in claimed.items():
        plain, *others = inherited["methods"][method]["results"]
        methods[method] = {"results": [plain, *types, *others]}
    if result_type:
        facts["rules"] = {"result_type": result_type}
    absorbed = {
        "identifier": extension["identifier"],
        "descriptions": dict(_texts(extension)),
    }
    return {**facts, "methods": methods, "absorbs": {name: absorbed}}


def _texts(extension: Json) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the texts about an extension, with those of any type at each of its types alone."""
    texts: Mapping[str, Mapping[str, str]] = extension.get("descriptions", {})
    types = {*texts.get("types", {}), *(member["type"] for member in extension.get("members", ()))}
    for kind, entries in texts.items():
        spread: dict[str, str] = {}
        for key, text in entries.items():
            owner, _, member = key.rpartition(".")
            spread |= {f"{type_}.{member}": text for type_ in types} if owner == "*" else {}
        yield kind, {**spread, **{key: text for key, text in entries.items() if key[:2] != "*."}}
