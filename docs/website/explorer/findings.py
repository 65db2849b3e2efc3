"""What is wrong in published schemas, by our patches: the place, both sides, why, and a probe.

A probe is a value about which the schema with the patch and the one without it do not agree. It is
looked for among the test vectors of the type. A patch that only gives something its name has none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from jsonschema.validators import validator_for
from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import canonical, parse_json
from mcp_protogen.config import GenerationOptions
from mcp_protogen.vectors.making import make
from mcp_protogen.vectors.vector import VectorSet

from website.explorer.protocol import Writer
from website.explorer.subjects import Extension, all_extensions, revisions

Json = dict[str, Any]

PROBES: Final = Path(__file__).with_name("probes.json")
"""The probes of all patches; `python -m website.explorer.probes` writes them."""


def findings_of(ledger: Iterable[Json], writer: Writer, of: str) -> list[Json]:
    """Return the patches of a revision or an extension; `of` is its name."""
    return [_finding(entry, writer, of) for entry in ledger]


def _finding(entry: Json, writer: Writer, of: str) -> Json:
    said: Json = {
        "of": of,
        "pointer": entry["pointer"],
        "type": jsonpointer.split(entry["pointer"])[1],
        "reason": entry["reason"],
        **writer.source(entry["source"]),
    }
    said |= {side: entry[side] for side in ("was", "now") if side in entry}
    if probe := _recorded().get(of, {}).get(entry["pointer"]):
        said["probe"] = probe
    return said


@cache
def _recorded() -> Mapping[str, Mapping[str, Json]]:
    recorded: dict[str, dict[str, Json]] = parse_json(PROBES.read_bytes(), PROBES.name)
    return recorded


def ledger_of(extension: Extension) -> tuple[Json, ...]:
    """Return the patches of an extension that are about what is shown of it."""
    return tuple(
        entry
        for entry in extension.source.ledger
        if jsonpointer.split(entry["pointer"])[1] in extension.mended
    )


def all_probes() -> Iterator[tuple[str, dict[str, Json]]]:
    """Yield the probes of each revision and extension by the pointers of its patches."""
    known = revisions()
    for revision in known:
        source = revision.source
        yield revision.id, dict(_probes(source.ledger, revision.without, make(revision.id)))
    # Of an extension of several revisions, the newest is what is shown.
    for extension in {one.name: one for one in all_extensions(known)}.values():
        options = GenerationOptions((extension.core.id,), extensions={extension.name: None})
        vectors = make(extension.core.id, options, extension.name)
        yield extension.name, dict(_probes(ledger_of(extension), extension.without, vectors))


def _probes(
    ledger: Sequence[Json], without: Callable[[Json | None], Json], vectors: VectorSet
) -> Iterator[tuple[str, Json]]:
    for entry in ledger:
        type_ = jsonpointer.split(entry["pointer"])[1]
        values = [one.value for one in vectors.vectors if one.subject.type == type_]
        both = [is_valid(without(left_out), type_) for left_out in (entry, None)]
        for value in sorted(values, key=lambda value: len(canonical(value))):
            before, after = (valid(value) for valid in both)
            if before != after:
                yield entry["pointer"], {"type": type_, "value": value, "published": before}
                break


def is_valid(definitions: Json, type_: str) -> Any:
    """Return the function of `jsonschema` that says whether a value is one of a type."""
    document = {"$defs": definitions, "$ref": f"#/$defs/{type_}"}
    return validator_for({})(document).is_valid
