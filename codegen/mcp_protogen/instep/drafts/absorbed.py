"""Extensions that a revision made part of its core, as far as its schema shows them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcp_protogen.instep.drafts.method_facts import SchemaFacts
from mcp_protogen.pipeline.derive.revision import DerivedRevision
from mcp_protogen.pipeline.inputs.absorbed import read_extension
from mcp_protogen.pipeline.inputs.pinned_extensions import extension_names
from mcp_protogen.pipeline.inputs.todo import TODO

Json = dict[str, Any]


def with_absorbed(own: Json, stated: Json, shown: SchemaFacts, folder: Path) -> Json:
    """Return a file of facts that names each extension whose messages the schema has.

    `stated` are the merged facts; null in them says that an extension is something else.
    """
    known = {*own.get("absorbs", {}), *stated.get("absorbs", {})}
    found = {
        name: {"source": TODO}
        for name in extension_names(folder)
        if name not in known and _has_messages(read_extension(name, shown.revision, folder), shown)
    }
    return {**own, "absorbs": {**own.get("absorbs", {}), **found}} if found else own


def _has_messages(extension: Json, shown: SchemaFacts) -> bool:
    messages = {name: fact["message"] for name, fact in extension.get("methods", {}).items()}
    there = {name: method.message for name, method in shown.methods.items()}
    return bool(messages) and messages.items() <= there.items()


def translation_rules(own: Json, newer: DerivedRevision, folder: Path) -> Iterator[Json]:
    """Yield rules for members that the older revision has only with an extension.

    `own` are the facts of the newer revision that are not inherited.
    """
    definitions: Json = newer.schema["$defs"]
    for name, fact in own.get("absorbs", {}).items():
        extension = read_extension(name, newer.ir.id, folder) if fact else {}
        sources = {
            f"{added['type']}.{member}": added["source"]
            for added in extension.get("members", ())
            for member in definitions.get(added["from"], {}).get("properties", {})
        }
        for at, source in sources.items():
            reason = f"The extension `{name}` has it in the older revision."
            yield _rule([at], {"keep": True}, reason, source)
        declared = [
            f"{owner}.{name}"
            for owner in ("ClientCapabilities", "ServerCapabilities")
            if name in definitions.get(owner, {}).get("properties", {})
        ]
        if extension and declared:
            reason = f"In the older revision the extension `{name}` is declared in its place."
            yield _rule(declared, {"drop": "harmless"}, reason, extension["source"])


def _rule(at: list[str], down: Json, reason: str, source: str) -> Json:
    return {"at": at, "up": {"keep": True}, "down": down, "reason": reason, "source": source}
