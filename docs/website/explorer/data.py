"""All data of the page, as JSON values by the names of their files."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from mcp_protogen.instep.compare.revisions import headers_of
from mcp_protogen.instep.vectors.envelope import ENVELOPES
from mcp_protogen.pipeline.inputs.pins import Pin
from mcp_protogen.pipeline.reports.change import PROTOCOL

from website.explorer.changes import comparisons, marks, without_sources
from website.explorer.facts import Writer
from website.explorer.findings import all_findings
from website.explorer.subjects import (
    Extension,
    Revision,
    all_extensions,
    changed_definitions,
    revisions,
)
from website.explorer.types import types_of

Json = dict[str, Any]

_ERRORS: Final = ("JSONRPCErrorResponse", "JSONRPCError")
_KEYS: Final[Mapping[str, Callable[[Json], str]]] = {
    "methods": lambda one: one["name"],
    "types": lambda one: one["name"],
    "capabilities": lambda one: ":".join((one["role"], ".".join(one["path"]))),
    "errors": lambda one: str(one["code"]),
    "headers": lambda one: f"{one['direction']}:{one['name']}",
    "metaKeys": lambda one: one["key"],
}
"""The lists of a revision, and the key of their items."""


def all_data() -> Iterator[tuple[str, Json]]:
    """Yield each file of data with its name, `index` last."""
    known, extensions = revisions(), all_extensions()
    whole = {revision.id: _revision(revision) for revision in known}
    parts = {extension.title: _extension(extension) for extension in extensions}
    yield from (*whole.items(), *parts.items())
    findings = all_findings(known, extensions)
    yield "findings", findings
    pairs: list[list[str]] = []
    for pair, comparison in comparisons(known, extensions):
        pairs.append([*pair])
        yield "..".join(pair), comparison
    index = _index(known, whole, parts)
    index["findings"] = {of: len(some) for of, some in findings.items()}
    yield "index", {**index, "pairs": pairs}


def _revision(revision: Revision) -> Json:
    facts, ir = revision.source.facts.document, revision.ir
    writer = Writer(revision.id, revision.mended)
    return {
        "id": revision.id,
        "rules": _rules(revision),
        "leniency": [
            {**leniency, **writer.source(leniency["source"])}
            for leniency in facts.get("leniency", {}).values()
        ],
        "methods": writer.methods(ir.methods, facts["methods"]),
        "capabilities": writer.capabilities(ir.capabilities),
        "errors": writer.errors(ir.errors),
        "headers": list(writer.headers(headers_of(facts))),
        "metaKeys": writer.meta_keys(ir.meta_keys),
        "types": types_of(ir.types),
        "schemas": _schemas(revision),
    }


def _rules(revision: Revision) -> Json:
    """Return the rules for sending messages, each with its page."""
    writer = Writer(revision.id, revision.mended)
    rules: Mapping[str, Json | None] = revision.source.facts.document["rules"]
    return {name: {**rule, **writer.source(rule["source"])} for name, rule in rules.items() if rule}


def _pin(pin: Pin) -> Json:
    published = pin.published
    return {
        "date": published.date,
        "sha256": published.sha256,
        "publications": len(pin.history) + 1,
        "url": f"{pin.repository}/blob/{published.spec_commit}/{pin.spec_path}",
    }


def _schemas(revision: Revision) -> Json:
    """Return the definitions for the judge, and published ones that differ."""
    mended = revision.mended
    known = {
        kind: next((name for name in names if name in mended), None)
        for kind, names in (*ENVELOPES.items(), ("error", _ERRORS))
    }
    return {
        "mended": mended,
        "published": changed_definitions(revision.published, mended),
        "envelopes": {kind: name for kind, name in known.items() if name},
        "anySchema": sorted(revision.source.facts.json_schemas),
    }


def _extension(extension: Extension) -> Json:
    made, core = extension.made, extension.core
    mended = extension.mended
    writer = Writer(core.id, made.source.schema["$defs"], extension.name)
    known = {type_.name for type_ in core.ir.types}
    stated = extension.source.facts_of(core.id).methods
    facts = {name: dict(entry) for name, entry in stated.items()}
    ir = made.derived.ir
    capabilities = [
        capability for capability in ir.capabilities if capability not in core.ir.capabilities
    ]
    published = {
        name: definition for name, definition in extension.published.items() if name in mended
    }
    return {
        "name": extension.name,
        "revision": core.id,
        "identifier": extension.source.identifier,
        "methods": writer.methods(
            (method for method in ir.methods if method.method in made.methods), facts
        ),
        "claims": [
            {
                "method": method.method,
                "results": [
                    name for name in method.results if name not in _results(core, method.method)
                ],
            }
            for method in ir.methods
            if method.method in made.claimed
        ],
        "capabilities": writer.capabilities(capabilities),
        "types": types_of(type_ for type_ in ir.types if type_.name not in known),
        "schemas": {"mended": mended, "published": changed_definitions(published, mended)},
        **writer.source(extension.source.facts["source"]),
    }


def _results(core: Revision, method: str) -> Iterable[str]:
    return next(spec.results for spec in core.ir.methods if spec.method == method)


def _index(known: Sequence[Revision], whole: Mapping[str, Json], parts: Mapping[str, Json]) -> Json:
    """Return the data that is loaded first: names, their marks, and possible comparisons."""
    return {
        "revisions": [
            {
                "id": revision.id,
                "era": revision.ir.era,
                "pin": _pin(revision.pin),
                "rules": _rules(revision),
                "findings": len(revision.source.patches),
            }
            for revision in known
        ],
        "readers": list(PROTOCOL),
        "items": {kind: _items(kind, key, whole, parts) for kind, key in _KEYS.items()},
        "extensions": [
            {name: part[name] for name in ("name", "revision", "identifier")}
            for part in parts.values()
        ],
    }


def _items(
    kind: str, key: Callable[[Json], str], whole: Mapping[str, Json], parts: Mapping[str, Json]
) -> list[Json]:
    columns = [{key(item): item for item in revision[kind]} for revision in whole.values()]
    added = {
        title: {key(item): item for item in part.get(kind, ())} for title, part in parts.items()
    }
    meanings = [
        {name: without_sources(entry) for name, entry in column.items()} for column in columns
    ]
    moved = marks(meanings)
    # An item of both a revision and its extension is that of the revision.
    sides = [*added.items(), *zip(whole, columns, strict=True)]
    sides.sort(key=lambda side: side[0].partition("+")[0])
    newest = {name: entry for _, column in sides for name, entry in column.items()}
    return [
        {
            "name": name,
            "marks": moved.get(name, "-" * len(columns)),
            **_in_extensions(name, added),
            **_summary(kind, entry),
        }
        for name, entry in sorted(newest.items())
    ]


def _in_extensions(name: str, added: Mapping[str, Mapping[str, Json]]) -> Json:
    found = [title for title, column in added.items() if name in column]
    return {"extensions": found} if found else {}


def _summary(kind: str, newest: Json) -> Json:
    """Return the line of an item in a list, from its newest revision."""
    if kind == "methods":
        return {name: newest[name] for name in ("kind", "senders", "doc")}
    if kind == "types":
        return {name: newest[name] for name in ("kind", "doc")}
    if kind == "errors":
        status = f", HTTP {newest['status']}" if newest["status"] else ""
        return {"title": newest["name"] + status, "doc": newest["doc"]}
    return {"doc": newest["doc"]} if "doc" in newest else {}
