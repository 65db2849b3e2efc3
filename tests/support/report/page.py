"""Writes docs/generated-artifacts.md from the records, `schema/` and the code.

PYTHONPATH=tests python -m support.report.page
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, StrictUndefined
from mcp_protogen.pipeline.inputs.pins import load_pins
from mcp_protogen.pipeline.ir import ObjectIR, RevisionIR
from support.folders import ROOT
from support.report import layers, records, unclear
from support.report.adoption import FILES, cost
from support.report.layers import LAYERS, REVISIONS, Knowledge
from support.report.schema_files import SCHEMA

Json = dict[str, Any]
Row = Sequence[object]

PAGE: Final = ROOT / "docs" / "generated-artifacts.md"
TARGETS: Final = {
    "pydantic": "[Pydantic](targets.md#pydantic)",
    "msgspec": "[msgspec](targets-msgspec.md#where-structs-differ-from-the-schema)",
    "typeddict": "[TypedDict](targets-dependency-free.md#typeddict)",
    "dataclasses": "[dataclasses](targets-dependency-free.md#dataclasses)",
    "typescript": "[TypeScript](targets-typescript.md#where-the-validator-differs-from-the-schema)",
}
"""The page about each target."""

_TEMPLATE: Final = Path(__file__).with_name("generated-artifacts.md.jinja")


def page(folder: Path = records.FOLDER) -> str:
    """Return the page; raise `SystemExit` for a record that is missing."""
    found = {name: records.read(name, folder) for name in records.MADE_BY}
    known = {revision: layers.knowledge(revision) for revision in REVISIONS}
    places = found["unclear"]["places"]
    reasons = unclear.reasons()
    values = {
        "revisions": len(REVISIONS),
        "newest": {"revision": REVISIONS[-1], **_all_of(known[REVISIONS[-1]])},
        "places": len(places),
        "patches": reasons.total(),
        "inputs": _inputs(),
        "generated": _generated_table(),
        "steps": _steps(),
        "known": _knowledge_table(known),
        **_suite(found["conformance"]),
        "differential": found["differential"],
        "verdicts": _verdicts(found["differential"]["verdicts"]),
        "targets": found["targets"],
        "outcomes": ", ".join(
            f"{at} {_outcomes(found['targets']['targets'][name])}" for name, at in TARGETS.items()
        ),
        "sdk": _sdk(found["python-sdk"]),
        "typescript_sdk": _sdk(found["typescript-sdk"]),
        "peers": found["peers"],
        "sides": _peers(found["peers"]["peers"]),
        "mutants": found["mutants"],
        "costs": _costs(),
        **_adoption(found["adoption"]),
        "rehearsals": {**found["rehearsals"], "table": _rehearsals(found["rehearsals"])},
        "unclear": list(unclear.group_places(places)),
        "reasons": table(("reason", "places"), reasons.items()),
    }
    environment = Environment(
        undefined=StrictUndefined, autoescape=False, trim_blocks=True, keep_trailing_newline=True
    )
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    return template.render(values)


def table(head: Row, rows: Iterable[Row]) -> str:
    """Return a Markdown table whose first column has words, and the others numbers."""
    lines = (head, ("---", *("---:" for _ in head[1:])), *rows)
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _inputs() -> str:
    rows: list[Row] = []
    for revision, pin in load_pins(SCHEMA).items():
        pages = layers.pages(revision)
        schema = pages.pop("schema.ts", 0)
        rows.append(
            (
                revision,
                f"`{(pin.published.spec_commit or '')[:12]}`",
                f"`{pin.published.sha256[:12]}`",
                len(pin.history) + 1,
                layers.own_values(revision),
                layers.patches(revision),
                schema,
                len(pages),
            )
        )
    head = ("revision", "commit", "sha256 of schema.json", "publications")
    return table((*head, "own facts", "patches", "entries from schema.ts", "source pages"), rows)


def _generated_table() -> str:
    irs = [layers.derive_pinned(revision).ir for revision in REVISIONS]
    made = [layers.vectors(revision) for revision in REVISIONS]
    rows: list[Row] = [
        ("types", *(len(ir.types) for ir in irs)),
        ("their members", *map(_members, irs)),
        ("methods", *(len(ir.methods) for ir in irs)),
        ("stubs", *map(layers.stubs, irs)),
        ("capabilities", *(len(ir.capabilities) for ir in irs)),
        ("capability gates", *(sum(len(method.requires) for method in ir.methods) for ir in irs)),
        ("error codes", *(len(ir.errors) for ir in irs)),
        ("valid vectors", *(valid for valid, _ in made)),
        ("invalid vectors", *(invalid for _, invalid in made)),
    ]
    return table(("layer", *REVISIONS), rows)


def _members(ir: RevisionIR) -> int:
    return sum(len(type_.fields) for type_ in ir.types if isinstance(type_, ObjectIR))


def _steps() -> str:
    rows = (
        (f"{step.older} to {newer}", step.plans, step.undecided, step.rules)
        for newer, step in layers.steps()
    )
    head = ("step", "types that change", "places that types do not decide", "rules")
    return table(head, rows)


def _knowledge_table(known: Mapping[str, Mapping[str, Knowledge]]) -> str:
    everything = sorted({section for found in known.values() for section in found})
    rows = [
        (name, *(_share(knowledge, of) for knowledge in known.values()))
        for name, of in LAYERS.items()
    ]
    rows.append(("**all**", *(_share(knowledge, everything) for knowledge in known.values())))
    return table(("layer", *known), rows)


def _share(found: Mapping[str, Knowledge], sections: Iterable[str]) -> str:
    some = _all_of({title: found[title] for title in sections if title in found})
    return f"{some['shown']}/{some['stated']}" if some["stated"] else "–"


def _all_of(found: Mapping[str, Knowledge]) -> Json:
    return {
        "stated": sum(knowledge.values for knowledge in found.values()),
        "shown": sum(knowledge.shown for knowledge in found.values()),
    }


def _suite(record: Json) -> Json:
    ((name, version),) = [entry for entry in record["suite"].items() if "conformance" in entry[0]]
    legs: list[Json] = record["legs"]
    sums = {key: sum(leg[key] for leg in legs) for key in ("passed", "possible", "checks")}
    impossible = len({scenario for leg in legs for scenario in leg["impossible"]})
    suite = {"name": name, "version": version, "date": record["date"], "impossible": impossible}
    return {"suite": {**suite, **sums}}


def _verdicts(verdicts: Json) -> str:
    rows = ((name, counts["accepted"], counts["refused"]) for name, counts in verdicts.items())
    return table(("revision, extensions", "accepted by both", "refused by both"), rows)


def _sdk(record: Json) -> Json:
    return {**record, **{when: _outcomes(record[when]) for when in ("before", "after")}}


def _peers(peers: list[Json]) -> str:
    rows = (
        (
            f"`{peer['package']}`",
            peer["version"],
            *(
                _outcomes(peer.get(side, {})).removesuffix(" passed")
                for side in ("client", "server")
            ),
        )
        for peer in peers
    )
    return table(("peer", "version", "tests passed as client", "as server"), rows)


def _outcomes(outcomes: Json) -> str:
    return ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items()) or "–"


def _costs() -> str:
    kinds = (name.removesuffix(".json") for name in FILES)
    rows = (
        (
            f"{older} to {newer}",
            *cost_of.decisions.values(),
            cost_of.drafted,
            cost_of.changed,
            cost_of.added,
        )
        for older, newer in pairwise(REVISIONS)
        for cost_of in [cost(newer, older)]
    )
    head = ("decisions by step", *kinds, "drafted", "changed", "added")
    return table(head, rows)


def _adoption(record: Json) -> Json:
    left = sum(record["decisions"].values())
    seconds = sum(step["seconds"] for step in record["steps"])
    return {"adoption": {**record, "left": left, "seconds": seconds}}


def _rehearsals(record: Json) -> str:
    rows = (
        (
            row["name"],
            *(row.get(key, "–") for key in ("decisions", "mechanical", "files", "seconds")),
            f"{row['failed']}: `{row['message']}`" if "failed" in row else row["suite"],
            "; ".join(row["left_out"]) or "–",
        )
        for row in record["rehearsals"]
    )
    head = ("proposal", "decisions", "mechanical", "files", "seconds", "result", "left out")
    return table(head, rows)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
