"""Drafts of likely revisions, adopted like rehearsed proposals: they connect and translate."""

import json
from pathlib import Path
from typing import Any

import pytest
from support import missing
from support.generated.moved_results import MOVES, PAGE, facts_of_outputs
from support.generated.next_revision import NEXT, copy_checkout
from support.rehearsals.__main__ import connect_sides, write_package
from support.rehearsals.adopting import decide, pin
from support.rehearsals.proposals import Rehearsal
from support.revisions import NEWEST, REVISIONS

Json = dict[str, Any]

pytestmark = pytest.mark.long
CASES = (
    "rev-2027-03-01",
    "tasks-in-core",
    "ttl-bounded-in-CacheableResult",
    "rev-2027-09-01-variants",
    "renamed-type-and-method",
)


def rule(at: str, **actions: Json) -> Json:
    return {"at": [at], **actions, "reason": "The case has it so.", "source": PAGE}


def changes(name: str, folder: Path) -> Json:
    """Return the facts and rules of a case that are more than the first choices of a draft."""
    # No constant tells these answers apart, so that the draft asks for a function.
    approvals = rule("InputResponse", down={"apply": "not_expressible"})
    match name:
        case "rev-2027-03-01":
            return {"rules": [approvals]}
        case "rev-2027-09-01-variants":
            facts = json.loads((folder / "rev-2027-09-01" / "facts.json").read_bytes())
            schemas = {"Tool.outputSchema": None, "ToolOutputVariant.schema": {"source": PAGE}}
            facts |= {"inherits": NEWEST, "types": {"json_schemas": schemas}}
            facts["places"] = {**facts_of_outputs(NEWEST)["places"], "requested_outputs": None}
            unwanted = rule("CallToolRequestParams.requestedOutputs", down={"drop": "harmless"})
            return {"facts": facts, "rules": [*MOVES, unwanted, approvals]}
        case _:
            return {}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", CASES)
def test_case_is_adopted_connects_and_is_translated_in_all_pairs(name: str, tmp_path: Path) -> None:
    folder = missing.reference("cases/next-revision", "that these drafts are adopted")
    schema = json.loads((folder / f"{name}.schema.json").read_bytes())
    part: Json = {"base": NEWEST, "page": "basic/index", "schema": schema}
    rehearsal, checkout = Rehearsal(name, (part | changes(name, folder),)), copy_checkout(tmp_path)
    pin(checkout, rehearsal)
    decide(checkout, rehearsal)
    write_package(checkout, rehearsal)
    connect_sides(checkout, rehearsal)
    tests = ("tests/generated/test_translations.py", "-k", "is_valid_and_names_every_loss")
    said = checkout.run("-m", "pytest", "-n0", "-p", "no:cacheprovider", "--of", NEXT, *tests)
    assert f"{2 * len(REVISIONS)} passed" in said
