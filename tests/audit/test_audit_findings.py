"""Each kind of difference between an SDK and the schema, on SDKs of a few lines."""

from pathlib import Path

import pytest
from mcp_protogen.instep.audit.expected import load_expected
from mcp_protogen.instep.audit.probe.expressions import expression
from mcp_protogen.instep.audit.severities import SEVERITIES
from mcp_protogen.pipeline.reports.change import Reader, Severity
from support.audit.auditing import PYDANTIC, REVISION, codes_about, findings, run_audit
from support.tables import case

pytestmark = pytest.mark.usefixtures("vectors_made_once")

# The class, the item, and its findings.
CASES: dict[str, tuple[str, str, set[str]]] = {
    "as in the schema": (
        """
        class Root(BaseModel):
            model_config = ConfigDict(extra="allow")
            uri: str
            name: str | None = None
            meta: dict[str, Any] | None = Field(None, alias="_meta")
        """,
        "Root",
        set(),
    ),
    "looser than the schema": (
        """
        class Root(BaseModel):
            model_config = ConfigDict(extra="allow")
            uri: Any
            name: Any = None
            meta: Any = Field(None, alias="_meta")
        """,
        "Root",
        set(),
    ),
    "a JSON Schema has a class of its own, in a type that stands in one place": (
        """
        class InputSchema(BaseModel):
            model_config = ConfigDict(extra="allow")
            type: Literal["object"]

        class Tool(BaseModel):
            model_config = ConfigDict(extra="allow")
            name: str
            inputSchema: dict[str, Any]

        class ListedTool(BaseModel):
            model_config = ConfigDict(extra="allow")
            name: str
            inputSchema: InputSchema

        class ListToolsResult(BaseModel):
            model_config = ConfigDict(extra="allow")
            tools: list[ListedTool]
        """,
        "ListToolsResult.tools[].inputSchema",
        set(),
    ),
    "the definition of one error has another code": (
        """
        class Problem(BaseModel):
            code: Literal[-32043]
            message: str
            data: Any = None

        class URLElicitationRequiredError(BaseModel):
            model_config = ConfigDict(extra="allow")
            jsonrpc: Literal["2.0"]
            error: Problem
            id: int | str | None = None
        """,
        "URLElicitationRequiredError",
        {"field-type"},
    ),
    "any number is taken where the schema has one code": (
        """
        class Problem(BaseModel):
            code: int
            message: str
            data: Any = None

        class URLElicitationRequiredError(BaseModel):
            model_config = ConfigDict(extra="allow")
            jsonrpc: Literal["2.0"]
            error: Problem
            id: int | str | None = None
        """,
        "URLElicitationRequiredError",
        {"field-optional", "field-untyped"},
    ),
    "a member is missing and kept": (
        """
        class Root(BaseModel):
            model_config = ConfigDict(extra="allow")
            uri: str
            meta: dict[str, Any] | None = Field(None, alias="_meta")
        """,
        "Root",
        {"field-missing"},
    ),
    "a member is missing and dropped": (
        """
        class Root(BaseModel):
            uri: str
            meta: dict[str, Any] | None = Field(None, alias="_meta")
        """,
        "Root",
        {"field-lost"},
    ),
    "a required member is missing": (
        """
        class Root(BaseModel):
            name: str | None = None
            meta: dict[str, Any] | None = Field(None, alias="_meta")
        """,
        "Root",
        {"field-missing-required"},
    ),
    "a member more": (
        """
        class Root(BaseModel):
            uri: str
            name: str | None = None
            meta: dict[str, Any] | None = Field(None, alias="_meta")
            colour: str | None = None
        """,
        "Root",
        {"field-extra"},
    ),
    "a required member more": (
        """
        class Root(BaseModel):
            uri: str
            name: str | None = None
            meta: dict[str, Any] | None = Field(None, alias="_meta")
            colour: str
        """,
        "Root",
        {"field-extra-required"},
    ),
    "an optional member is required": (
        """
        class Root(BaseModel):
            uri: str
            name: str
            meta: dict[str, Any] | None = Field(None, alias="_meta")
        """,
        "Root",
        {"field-required"},
    ),
    "a required member is optional": (
        """
        class Root(BaseModel):
            uri: str = "file:///"
            name: str | None = None
            meta: dict[str, Any] | None = Field(None, alias="_meta")
        """,
        "Root",
        {"field-optional"},
    ),
    "a required member may be null": (
        """
        class Root(BaseModel):
            uri: str | None
            name: str | None = None
            meta: dict[str, Any] | None = Field(None, alias="_meta")
        """,
        "Root",
        {"field-nullable"},
    ),
    "null is refused where it means something": (
        """
        class Task(BaseModel):
            taskId: str
            status: str
            createdAt: str
            lastUpdatedAt: str
            ttl: int
            statusMessage: str | None = None
            pollInterval: int | None = None
        """,
        "Task",
        {"field-not-nullable"},
    ),
    "another type": (
        """
        class Root(BaseModel):
            uri: int
            name: list[str] | None = None
            meta: dict[str, Any] | None = Field(None, alias="_meta")
        """,
        "Root",
        {"field-type"},
    ),
    "a constant that is filled in": (
        """
        class TextContent(BaseModel):
            type: Literal["text"] = "text"
            text: str
            annotations: dict[str, Any] | None = None
            meta: dict[str, Any] | None = Field(None, alias="_meta")
        """,
        "TextContent",
        {"field-untyped"},
    ),
    "a constant that is optional and not filled in": (
        """
        class TextContent(BaseModel):
            type: Literal["text"] | None = None
            text: str
            annotations: dict[str, Any] | None = None
            meta: dict[str, Any] | None = Field(None, alias="_meta")
        """,
        "TextContent",
        {"field-optional", "field-untyped"},
    ),
    "another constant": (
        """
        class TextContent(BaseModel):
            type: Literal["txt"]
            text: str
            annotations: Any = None
            meta: dict[str, Any] | None = Field(None, alias="_meta")
        """,
        "TextContent",
        {"constant-wrong", "field-untyped"},
    ),
    "a value too few and one too many": (
        """
        Role = Literal["user", "robot"]
        """,
        "Role",
        {"enum-member-missing", "enum-member-extra"},
    ),
    "an alternative too few and one too many": (
        """
        class CancelledNotificationParams(BaseModel):
            requestId: str | list[str] | None = None
            reason: str | None = None
            meta: dict[str, Any] | None = Field(None, alias="_meta")
        """,
        "CancelledNotificationParams",
        {"union-arm-missing", "union-arm-extra"},
    ),
    "an integer where there may be a fraction": (
        """
        class ModelPreferences(BaseModel):
            hints: list[Any] | None = None
            costPriority: int | None = None
            speedPriority: float | None = None
            intelligencePriority: float | None = None
        """,
        "ModelPreferences",
        {"field-type", "field-untyped"},
    ),
    "inside lists": (
        """
        class CompleteResult(BaseModel):
            class Completion(BaseModel):
                values: list[int]
                total: int | None = None
                hasMore: bool | None = None

            completion: Completion
            meta: dict[str, Any] | None = Field(None, alias="_meta")
        """,
        "CompleteResult",
        {"field-type"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_difference_is_found_and_nothing_else_is(case: str, tmp_path: Path) -> None:
    body, item, codes = CASES[case]
    indented = body.replace("\n    ", "\n")
    assert codes_about(run_audit(tmp_path, PYDANTIC + indented), item) == codes


def test_a_finding_names_the_place_on_both_sides(tmp_path: Path) -> None:
    source = f"{PYDANTIC}\n    class Root(BaseModel):\n        uri: int"
    change = findings(run_audit(tmp_path, source))["field-type", "Root.uri"]
    assert (change.before, change.after) == ("string", "integer")
    assert change.pointer == "/$defs/Root/properties/uri"


def test_missing_types_of_messages_are_found_and_bases_only_mentioned(tmp_path: Path) -> None:
    found = findings(
        run_audit(tmp_path, f"{PYDANTIC}\n    class Root(BaseModel):\n        uri: str")
    )
    assert found["type-missing", "Tool"].severity[Reader.SDK] is Severity.WARNING
    assert found["type-missing-base", "BaseMetadata"].worst is Severity.INFO
    assert ("type-missing", "Root") not in found
    assert ("type-missing", "ContentBlock") not in found  # a union may be written out


def test_methods_are_known_by_their_messages_and_by_tables_of_names(tmp_path: Path) -> None:
    source = f"""{PYDANTIC}
    class PingRequest(BaseModel):
        method: Literal["ping"] = "ping"

    class Dance(BaseModel):
        method: Literal["dance/start"]

    class SubscribeAgain(BaseModel):
        method: Literal["subscriptions/listen"]

    HANDLERS = {{"tools/call": print}}
    """
    found = findings(run_audit(tmp_path, source))
    missing = {item for code, item in found if code == "method-missing"}
    assert not missing & {"ping", "tools/call"}
    assert {"tools/list", "notifications/progress"} <= missing
    assert found["method-extra", "dance/start"].after == "sdk.Dance"
    assert "2026-07-28" in found["method-extra", "subscriptions/listen"].after


def test_methods_with_a_class_that_are_in_no_table_of_methods_are_missing(tmp_path: Path) -> None:
    requests = [m.method for m in load_expected(REVISION).ir.methods if m.kind == "request"]
    rows = [(name, REVISION) for name in requests if not name.startswith("tasks/")]
    source = f"""{PYDANTIC}
    REQUESTS = dict.fromkeys({[*rows, ("tasks/get", "2026-07-28")]}, print)
    NEUTRAL = {{"tasks/list": print}}
    TIMES = {{"tasks/cancel": 3, "tasks/result": [1.5]}}

    class GetTaskRequest(BaseModel):
        method: Literal["tasks/get"]

    class PingRequest(BaseModel):
        method: Literal["ping"]

    class RootsListChangedNotification(BaseModel):
        method: Literal["notifications/roots/list_changed"]
    """
    found = findings(run_audit(tmp_path, source))
    missing = {item for code, item in found if code == "method-missing"}
    assert missing & set(requests) == {
        f"tasks/{name}" for name in ("cancel", "get", "list", "result")
    }
    change = found["method-missing", "tasks/get"]
    assert (change.message, change.after) == ("is in no table of methods", "sdk.GetTaskRequest")
    # Without a table of notifications, their classes are found by name.
    assert "notifications/roots/list_changed" not in missing
    assert found["method-missing", "notifications/progress"].message == "is missing"


def test_error_codes_are_known_by_value_and_missed_by_name(tmp_path: Path) -> None:
    source = f"""{PYDANTIC}
    import enum

    class Root(BaseModel):
        uri: str

    class ErrorCode(enum.IntEnum):
        ParseError = -32700
        InvalidParams = -32601
        MethodNotFound = -32603
    INVALID_REQUEST = -32600
    """
    found = findings(run_audit(tmp_path, source))
    wrong = found["error-code-wrong", "INVALID_PARAMS"]
    assert (wrong.before, wrong.after) == ("-32602", "-32601")
    assert ("error-code-missing", "RESOURCE_NOT_FOUND") in found
    assert not {
        ("error-code-missing", "PARSE_ERROR"),
        ("error-code-missing", "INVALID_REQUEST"),
    } & (found.keys())


@pytest.mark.parametrize(
    ("extra", "code"),
    [("ignore", "unknown-members-lost"), ("forbid", "unknown-members-refused"), ("allow", None)],
)
def test_handling_of_undeclared_members_is_reported_once(
    extra: str, code: str | None, tmp_path: Path
) -> None:
    source = f"""{PYDANTIC}
    class Root(BaseModel):
        model_config = ConfigDict(extra="{extra}")
        uri: str

    class Tool(BaseModel):
        model_config = ConfigDict(extra="{extra}")
        name: str
    """
    found = {code for code, _ in findings(run_audit(tmp_path, source))}
    assert {c for c in found if c.startswith("unknown-members")} == ({code} if code else set())


def test_an_sdk_that_names_other_revisions_is_told_so(tmp_path: Path) -> None:
    root = f"{PYDANTIC}\n    class Root(BaseModel):\n        uri: str\n"
    other = run_audit(tmp_path / "a", f"{root}\n    LATEST_PROTOCOL_VERSION = '2025-06-18'")
    named = run_audit(tmp_path / "b", f"{root}\n    VERSIONS = ['2025-06-18', '2025-11-25']")
    assert ("revision-not-named", "2025-11-25") in findings(other)
    assert ("revision-not-named", "2025-11-25") not in findings(named)


def test_a_member_of_a_base_class_is_told_once(tmp_path: Path) -> None:
    source = f"""{PYDANTIC}
    class RequestParams(BaseModel):
        colour: str | None = None

    class PaginatedRequestParams(RequestParams):
        cursor: str | None = None

    class SetLevelRequestParams(RequestParams):
        level: str
    """
    changes = run_audit(tmp_path, source).comparison.changes
    extra = [change.item for change in changes if change.code == "field-extra"]
    assert extra == ["RequestParams.colour"]


def test_an_annotation_that_json_does_not_explain_is_shown_as_it_is(tmp_path: Path) -> None:
    source = f"""{PYDANTIC}
    class Colour:
        pass

    class Root(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        uri: str
        colours: list[Colour] | None = None
    """
    change = findings(run_audit(tmp_path, source))["field-extra", "Root.colours"]
    assert ".Colour'>]" in change.after


def test_annotation_is_shown_up_to_200_characters() -> None:
    for name in ("N" * 100, "N" * 200):
        unknown = type(name, (), {})
        with case(f"{len(name)} characters"):
            assert expression(unknown, lambda _: None) == {"any": repr(unknown)[:200]}


def test_severities_follow_who_sends_the_type(tmp_path: Path) -> None:
    """Servers send tools and read roots: misread types hurt clients, miswritten ones servers."""
    source = f"""{PYDANTIC}
    class ToolAnnotations(BaseModel):
        title: str

    class Root(BaseModel):
        name: str | None = None
    """
    found = findings(run_audit(tmp_path, source))
    unreadable = found["field-required", "ToolAnnotations.title"].severity
    assert unreadable[Reader.CLIENT] is Severity.BREAKING
    assert unreadable[Reader.SERVER] is Severity.INFO
    unwritable = found["field-missing-required", "Root.uri"].severity
    assert unwritable[Reader.CLIENT] is Severity.BREAKING
    assert unwritable[Reader.SERVER] is Severity.WARNING


def test_a_finding_that_rests_on_a_mended_schema_says_so(tmp_path: Path) -> None:
    source = f"""{PYDANTIC}
    class CancelTaskRequest(BaseModel):
        class Params(BaseModel):
            taskId: str

        method: Literal["tasks/cancel"]
        params: Params
    """
    found = findings(run_audit(tmp_path, source))
    assert found["field-lost", "CancelTaskRequest.params._meta"].before.endswith("(by a patch)")


def test_every_row_has_a_reason_of_one_sentence() -> None:
    assert all(row.why.endswith(".") and row.why.count(". ") == 0 for row in SEVERITIES.values())
