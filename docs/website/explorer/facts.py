"""Methods, capabilities, errors, headers and keys of `_meta` as data of the page."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_protogen.base.names import type_name
from mcp_protogen.instep.compare.revisions import Header
from mcp_protogen.pipeline.ir import CapabilityIR, ErrorIR, MetaKeyIR, MethodIR, RequirementIR

from website.explorer.sources import page_of

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes facts of a revision or an extension; `definitions` are those of its schema."""

    revision: str
    definitions: Mapping[str, Any]
    extension: str = ""

    def methods(self, methods: Iterable[MethodIR], facts: Mapping[str, Json]) -> list[Json]:
        """Return methods; the errors of each are in the `facts`, by method."""
        wire = {str(type_name(name)): name for name in self.definitions}
        return [self._method(method, wire, facts.get(method.method, {})) for method in methods]

    def _method(self, method: MethodIR, wire: Mapping[str, str], facts: Json) -> Json:
        errors: Json = facts.get("errors", {})
        return {
            "name": method.method,
            "kind": method.kind,
            "senders": list(method.senders),
            "message": wire.get(method.message, method.message),
            "params": method.params,
            "paramsRequired": method.params_required,
            "results": [wire.get(name, name) for name in method.results],
            "gates": [self.gate(requirement) for requirement in method.requires],
            "phase": method.phase,
            "traits": list(method.traits),
            "errors": [{"code": int(code), **error} for code, error in errors.items()],
            "since": method.since,
            "removed": method.removed,
            "deprecated": method.deprecated,
            "doc": method.doc,
            **self.source(method.source),
        }

    def gate(self, gate: RequirementIR) -> Json:
        """Return the capability that a method needs, with its conditions."""
        when = [
            {
                "member": condition.member,
                "oneOf": list(condition.one_of) if condition.one_of is not None else None,
                "orAbsent": condition.or_absent,
            }
            for condition in gate.when
        ]
        return {**self._fields(gate, "role", "path", "level", "sender"), "when": when}

    def capabilities(self, capabilities: Iterable[CapabilityIR]) -> list[Json]:
        """Return the capabilities that each role may declare."""
        return [
            self._fields(capability, "role", "path", "flag", "implied", "doc")
            for capability in capabilities
        ]

    def errors(self, errors: Iterable[ErrorIR]) -> list[Json]:
        """Return error codes, with their statuses over HTTP if that is not 200."""
        return [
            {
                **self._fields(error, "code", "name", "data", "emit", "doc"),
                "status": None if error.status == 200 else error.status,
            }
            for error in errors
        ]

    def headers(self, headers: Iterable[Header]) -> Iterator[Json]:
        """Yield the HTTP headers of requests, then those of responses."""
        for header in headers:
            yield {
                "name": header.name,
                "direction": header.direction,
                "level": header.level,
                "when": header.when,
                **self.source(header.source),
            }

    def meta_keys(self, keys: Iterable[MetaKeyIR]) -> list[Json]:
        """Return the keys of `_meta` with a meaning."""
        return [self._fields(key, "key", "on", "of", "type", "required") for key in keys]

    def source(self, source: str) -> Json:
        """Return a source with the address of its page, if known."""
        url = page_of(source, self.revision, self.extension)
        return {"source": source, "url": url} if url else {"source": source}

    def _fields(self, one: CapabilityIR | ErrorIR | MetaKeyIR | RequirementIR, *names: str) -> Json:
        """Return the fields of a fact by their names, and its source."""
        return {**{name: getattr(one, name) for name in names}, **self.source(one.source)}
