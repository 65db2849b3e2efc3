"""An audit of the generated package against its own schemas finds nothing."""

from pathlib import Path

import pytest
from mcp_protogen.instep.audit.run_audit import audit
from mcp_protogen.instep.audit.sdk import find
from support.revisions import REVISIONS

pytestmark = pytest.mark.usefixtures("vectors_made_once")

PACKAGE = Path(__file__).resolve().parents[2] / "generated" / "mcp_revisions"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("revision", REVISIONS)
def test_an_audit_of_the_generated_package_finds_nothing(revision: str) -> None:
    found = audit(find(str(PACKAGE)), revision)
    assert found.comparison.changes == ()
    # Extensions of it are audited by themselves.
    assert {note.code for note in found.comparison.notes} <= {"has-extension"}
    total = sum(row.how == "name" for row in found.matched)
    assert total == len(found.matched)
