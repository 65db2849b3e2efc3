"""The rehearsal of each proposal on a copy of this checkout, and the record of what came of it.

PYTHONPATH=tests python -m support.rehearsals [NAME ...]
"""

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mcp_protogen.base.problems import ProblemError
from support.generated.golden_package import PACKAGE
from support.generated.next_revision import NEXT, Checkout, copy_checkout
from support.rehearsals.adopting import changed_files, contents, decide, pin
from support.rehearsals.proposals import Rehearsal, rehearsals
from support.report import records

Json = dict[str, Any]

_EVERYTHING = ("--revision", "all", "--with", "all", "--extension", "all")
_SUMMARY = re.compile(
    r"^=*[ ]*((?:\d+ [a-z]+, )*?\d+ [a-z]+)(?:, \d+ deselected)? in ", re.MULTILINE
)
_FAILED = re.compile(r"^FAILED \S+::(test_\w+)", re.MULTILINE)
_TRIED = ("caching", "gates", "reports")
"""Keys of facts whose behaviour is tried."""
# Others write results of tools by hand, in the form of the newest revision, or take long.
_TESTS = {
    "generated": (
        *("generated_capabilities", "generated_defaults", "generated_models", "generated_tables"),
        *("translate_function", "translations"),
    ),
    "http": ("fire_bodies", "http_options"),
    "inspection": ("inspection_rules", "inspected_servers"),
    "sessions": (
        *("bridge_limits", "cancelled_handlers", "client_of", "clients_over_eras"),
        *("forwarding", "http_client_sessions", "shutdown"),
    ),
    "toolkit": (
        *("mistakes", "tool_arguments", "toolkit_classes", "toolkit_lists", "toolkit_prompts"),
        "toolkit_resources",
    ),
    "unit": ("facts", "revisions_are_data", "schema_files", "snapshot", "translation_rules"),
}


def rehearse(rehearsal: Rehearsal, place: Path) -> Json:
    """Take all steps, up to the first that fails; return the row of the record."""
    began = _spent()
    checkout = copy_checkout(place)
    row: Json = {"name": rehearsal.name, "source": rehearsal.collect("source")}
    for step, work in _STEPS.items():
        try:
            row |= work(checkout, rehearsal)
        except (AssertionError, ProblemError, KeyError) as error:
            row |= {"failed": step, "message": _last_line(error)}
            break
    return row | {"left_out": rehearsal.collect("left_out"), "seconds": round(_spent() - began)}


def _adopt(checkout: Checkout, rehearsal: Rehearsal) -> Json:
    before = contents(checkout)
    pin(checkout, rehearsal)
    found = decide(checkout, rehearsal)
    files = [*changed_files(checkout, before)]
    return {"decisions": found.all, "mechanical": found.mechanical, "files": len(files)}


def write_package(checkout: Checkout, _: Rehearsal) -> Json:
    """Generate the committed package of a copy, with the next revision in it."""
    package = checkout.generated / PACKAGE.name
    options = (*_EVERYTHING, "--runtime", "mcp_protogen.runtime", "--out", str(package))
    checkout.run("-m", "mcp_protogen", *options)
    return {}


def connect_sides(checkout: Checkout, rehearsal: Rehearsal) -> Json:
    """Connect clients and servers of that package; use new transports, extensions and facts."""
    changes = rehearsal.extensions().items()
    methods = json.dumps({name: [*change["facts"].get("methods", ())] for name, change in changes})
    transports = json.dumps(rehearsal.facts().get("transports", {}))
    arguments = (NEXT, rehearsal.base, transports)
    checkout.run("-m", "support.rehearsals.trial", *arguments, folder="tests")
    if changes:
        checkout.run("-m", "support.rehearsals.extension_trial", NEXT, methods, folder="tests")
    if "extension_versions" in rehearsal.facts():
        checkout.run("-m", "support.rehearsals.versions_trial", NEXT, folder="tests")
        compared = checkout.run("-m", "mcp_protogen", "diff", "notes", "notes-v2")
        assert "AddNoteResult.noteId" in compared, compared
    stated = json.dumps(rehearsal.facts())
    if tried := [name for name in _TRIED if f'"{name}":' in stated]:
        revisions = (NEXT, rehearsal.base)
        checkout.run("-m", "support.rehearsals.fact_trial", *revisions, *tried, folder="tests")
    return {}


def _run_suite(checkout: Checkout, _: Rehearsal) -> Json:
    files = (f"tests/{folder}/test_{name}.py" for folder, names in _TESTS.items() for name in names)
    options = ("-v", "-rf", "-n0", "--tb=no", "-p", "no:cacheprovider", "--of", NEXT)
    try:
        said = checkout.run("-m", "pytest", *options, *files)
    except AssertionError as error:
        said = str(error)
    outcomes = _SUMMARY.findall(said)
    assert outcomes, said
    failed = ", ".join(sorted(set(_FAILED.findall(said))))
    return {"suite": f"{outcomes[-1]}: {failed}" if failed else outcomes[-1]}


_STEPS: dict[str, Callable[[Checkout, Rehearsal], Json]] = {
    "decide": _adopt,
    "generate": write_package,
    "connect": connect_sides,
    "test": _run_suite,
}


def _spent() -> float:
    """Return the processor time of this process and of those that it waited for."""
    return sum(os.times()[:4])


def _last_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "rror" in line and "hint" not in line]
    return (telling or lines or [type(error).__name__])[-1].strip()[:200]


def main(names: list[str]) -> None:
    """Rehearse the proposals of these names, or all; record only all."""
    rows: list[Json] = []
    for rehearsal in rehearsals():
        if not names or rehearsal.name in names:
            with TemporaryDirectory() as folder:
                rows.append(rehearse(rehearsal, Path(folder)))
            print(rows[-1], flush=True)
    if not names:
        records.write("rehearsals", {"rehearsals": rows})


if __name__ == "__main__":
    main(sys.argv[1:])
