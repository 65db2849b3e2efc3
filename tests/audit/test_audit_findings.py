"""Each kind of difference between an SDK and the schema, on SDKs of a few lines."""

from pathlib import Path
from textwrap import dedent

import pytest
from mcp_protogen.instep.audit.expected import load_expected
from mcp_protogen.instep.audit.probe.expressions import expression
from mcp_protogen.instep.audit.severities import SEVERITIES
from mcp_protogen.pipeline.reports.change import Reader, Severity
from support.audit.auditing import PYDANTIC, REVISION, codes_about, findings, run_audit
from support.tables import case

pytestmark = pytest.mark.usefixtures("vectors_made_once")

META = 'meta: dict[str, Any] | None = Field(None, alias="_meta")'
OPEN = 'model_config = ConfigDict(extra="allow")'
NAME = "name: str | None = None"
HAS_MORE = "hasMore: bool | None = None"
ERROR = (OPEN, 'jsonrpc: Literal["2.0"]', "error: Problem", "id: int | str | None = None")
TASK = ("taskId: str", "status: str", "createdAt: str", "lastUpdatedAt: str")


def model(name: str, *members: str) -> str:
    """Return the source of a model."""
    return f"\nclass {name}(BaseModel):\n" + "".join(f"    {member}\n" for member in members)


def problem_with(code: str) -> str:
    """Return an error whose code has a type."""
    own = (f"code: {code}", "message: str", "data: Any = None")
    return model("Problem", *own) + model("URLElicitationRequiredError", *ERROR)


# The members of `Root`, and the findings.
ROOTS: dict[str, tuple[tuple[str, ...], str]] = {
    "a member is missing and kept": ((OPEN, "uri: str", META), "field-missing"),
    "a member is missing and dropped": (("uri: str", META), "field-lost"),
    "a required member is missing": ((NAME, META), "field-missing-required"),
    "a member more": (("uri: str", NAME, META, "colour: str | None = None"), "field-extra"),
    "a required member more": (("uri: str", NAME, META, "colour: str"), "field-extra-required"),
    "an optional member is required": (("uri: str", "name: str", META), "field-required"),
    "a required member is optional": (('uri: str = "file:///"', NAME, META), "field-optional"),
    "a required member may be null": (("uri: str | None", NAME, META), "field-nullable"),
    "another type": (("uri: int", "name: list[str] | None = None", META), "field-type"),
}
# The constant of `TextContent`, and the findings.
CONSTANTS: dict[str, tuple[str, set[str]]] = {
    "a constant that is filled in": ('Literal["text"] = "text"', {"field-untyped"}),
    "a constant that is optional and not filled in": (
        'Literal["text"] | None = None',
        {"field-optional", "field-untyped"},
    ),
    "another constant": ('Literal["txt"]', {"constant-wrong", "field-untyped"}),
}
# The source, the item, and its findings.
CASES: dict[str, tuple[str, str, set[str]]] = {
    "as in the schema": (model("Root", OPEN, "uri: str", NAME, META), "Root", set()),
    "looser than the schema": (
        model(
            "Root", OPEN, "uri: Any", "name: Any = None", 'meta: Any = Field(None, alias="_meta")'
        ),
        *("Root", set()),
    ),
    "a JSON Schema has a class of its own, in a type that stands in one place": (
        model("InputSchema", OPEN, 'type: Literal["object"]')
        + model("Tool", OPEN, "name: str", "inputSchema: dict[str, Any]")
        + model("ListedTool", OPEN, "name: str", "inputSchema: InputSchema")
        + model("ListToolsResult", OPEN, "tools: list[ListedTool]"),
        *("ListToolsResult.tools[].inputSchema", set()),
    ),
    "the definition of one error has another code": (
        problem_with("Literal[-32043]"),
        *("URLElicitationRequiredError", {"field-type"}),
    ),
    "any number is taken where the schema has one code": (
        problem_with("int"),
        *("URLElicitationRequiredError", {"field-optional", "field-untyped"}),
    ),
    "null is refused where it means something": (
        model(
            *("Task", *TASK, "ttl: int"),
            *("statusMessage: str | None = None", "pollInterval: int | None = None"),
        ),
        *("Task", {"field-not-nullable"}),
    ),
    "a value too few and one too many": (
        '\nRole = Literal["user", "robot"]\n',
        *("Role", {"enum-member-missing", "enum-member-extra"}),
    ),
    "an alternative too few and one too many": (
        model(
            "CancelledNotificationParams",
            *("requestId: str | list[str] | None = None", "reason: str | None = None", META),
        ),
        *("CancelledNotificationParams", {"union-arm-missing", "union-arm-extra"}),
    ),
    "an integer where there may be a fraction": (
        model(
            *("ModelPreferences", "hints: list[Any] | None = None"),
            *("costPriority: int | None = None", "speedPriority: float | None = None"),
            "intelligencePriority: float | None = None",
        ),
        *("ModelPreferences", {"field-type", "field-untyped"}),
    ),
    "inside lists": (
        model("Completion", "values: list[int]", "total: int | None = None", HAS_MORE)
        + model("CompleteResult", "completion: Completion", META),
        *("CompleteResult", {"field-type"}),
    ),
    **{name: (model("Root", *own), "Root", {code}) for name, (own, code) in ROOTS.items()},
    **{
        name: (
            model("TextContent", f"type: {own}", "text: str", "annotations: Any = None", META),
            *("TextContent", codes),
        )
        for name, (own, codes) in CONSTANTS.items()
    },
}


@pytest.mark.parametrize("case", CASES)
def test_a_difference_is_found_and_nothing_else_is(case: str, tmp_path: Path) -> None:
    body, item, codes = CASES[case]
    assert codes_about(run_audit(tmp_path, dedent(PYDANTIC) + body), item) == codes


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
