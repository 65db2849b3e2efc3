"""Audits of an SDK's part for an extension, and of SDKs that have one beside a revision."""

import json
from pathlib import Path

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.instep.audit.run_audit import Audit, AuditOptions, audit
from support import formats, tables
from support.audit.auditing import PYDANTIC, codes_about, findings, write_sdk
from support.running import Run

pytestmark = pytest.mark.usefixtures("vectors_made_once")

MODELS = f"""{PYDANTIC}
    class Params(BaseModel):
        model_config = ConfigDict(extra="allow")
        meta: Any = Field(alias="_meta")

    class GetTaskRequestParams(Params):
        task_id: str = Field(alias="taskId")

    class GetTaskRequest(BaseModel):
        method: Literal["tasks/get"]
        params: GetTaskRequestParams

    class UpdateTaskRequest(BaseModel):
        method: Literal["tasks/update"]
        params: Params

    class CreateTaskResult(BaseModel):
        model_config = ConfigDict(extra="allow")
        result_type: Literal["task"] = Field(alias="resultType")
        task_id: str = Field(alias="taskId")
        status: Literal["working", "completed", "stopped"]
        created_at: str = Field(alias="createdAt")
        updated_at: str = Field(alias="lastUpdatedAt")
        ttl: int | None = Field(None, alias="ttl")
    """


def of_tasks(folder: Path, source: str, *, vectors: bool = False) -> Audit:
    """Audit a module with the extension tasks."""
    options = AuditOptions(extension="tasks", vectors=vectors)
    return audit(write_sdk(folder, source), None, options)


def test_types_and_methods_of_an_extension_are_compared_with_its_own(tmp_path: Path) -> None:
    found = of_tasks(tmp_path, MODELS)
    assert found.comparison.before == "2026-07-28+tasks"
    assert {row.type for row in found.matched if row.target} >= {
        *("CreateTaskResult", "GetTaskRequest", "UpdateTaskRequest"),
    }
    assert codes_about(found, "CreateTaskResult") >= {
        *("field-missing-required", "field-extra", "enum-member-extra", "enum-member-missing"),
    }
    assert codes_about(found, "UpdateTaskRequest") == {"field-type"}


def test_missing_items_are_those_of_extension_only(tmp_path: Path) -> None:
    found = findings(of_tasks(tmp_path, MODELS))
    missing = {item for code, item in found if code == "method-missing"}
    assert missing == {"notifications/tasks", "tasks/cancel"}
    types = {item for code, item in found if code.startswith("type-missing")}
    assert "CancelTaskRequest" in types and not types & {"Tool", "Result", "CallToolRequest"}
    assert not {code for code, _ in found} & {"error-code-missing", "revision-not-named"}


def test_types_that_are_in_no_message_are_compared_too(tmp_path: Path) -> None:
    source = f"""{PYDANTIC}
    class McpUiToolMeta(BaseModel):
        resource_url: str = Field(alias="resourceUrl")
        visibility: list[Literal["model", "app", "user"]] | None = None
    """
    options = AuditOptions(extension="apps", vectors=False)
    found = audit(write_sdk(tmp_path, source), None, options)
    assert {"enum-member-extra", "field-lost"} <= codes_about(found, "McpUiToolMeta")


def test_vectors_of_the_extension_are_tried(tmp_path: Path) -> None:
    found = of_tasks(tmp_path, MODELS, vectors=True)
    assert any(code == "refuses-valid" and "Task" in item for code, item in findings(found))


def test_a_revision_is_audited_without_what_the_sdk_has_of_an_extension(tmp_path: Path) -> None:
    options = AuditOptions(vectors=False)
    found = audit(write_sdk(tmp_path, MODELS), "2026-07-28", options)
    assert not any("ask" in item for code, item in findings(found) if code.endswith("-extra"))
    (note,) = (
        comparison_note
        for comparison_note in found.comparison.notes
        if comparison_note.code == "has-extension"
    )
    assert note.hint == "audit it: --extension tasks"
    older = audit(write_sdk(tmp_path, MODELS), "2025-11-25", options)
    assert ("method-extra", "tasks/update") in findings(older)


def test_the_command_names_the_extension(mcp_gen: Run, tmp_path: Path) -> None:
    write_sdk(tmp_path / "sdk", MODELS)
    folder = str(tmp_path / "sdk")
    ran = mcp_gen("audit", folder, "--extension", "tasks", "--no-vectors", "--format", "json")
    assert ran.code == 1 and formats.faults("audit-report", ran.out) == []
    document = json.loads(ran.out)
    assert (document["revision"], document["extension"]) == ("2026-07-28", "tasks")


def test_an_extension_that_is_not_one_of_the_revision_is_refused(tmp_path: Path) -> None:
    for name, revision, code in (
        ("task", None, "unknown-extension"),
        ("tasks", "2025-11-25", "unbound-extension"),
    ):
        with tables.case(name), pytest.raises(ProblemError, match=code):
            audit(write_sdk(tmp_path, MODELS), revision, AuditOptions(extension=name))
