"""SDKs and vectors: each cause is found once, unless it is known already."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.instep.audit.expected import load_expected
from mcp_protogen.instep.audit.known import find_gaps
from mcp_protogen.instep.audit.probe.readers import Readers
from mcp_protogen.instep.audit.run_audit import AuditOptions, audit, responder_command
from mcp_protogen.instep.audit.severities import AuditFinding
from mcp_protogen.instep.vectors.vector import Subject
from mcp_protogen.pipeline.reports.change import Category
from pydantic import AfterValidator
from support.audit.auditing import PYDANTIC, REVISION, ROOT, findings, run_audit, write_sdk

pytestmark = pytest.mark.usefixtures("vectors_made_once")

ICON = f"""{PYDANTIC}
    class Icon(BaseModel):
        model_config = ConfigDict(extra="allow")
        src: str
        mimeType: str | None = None
        sizes: list[str] | None = None
        theme: Literal["light", "dark"] | None = None
"""


def behaviour(folder: Path, source: str) -> dict[tuple[str, str], str]:
    """Return the behavioural findings with the SDK's behaviour."""
    found = findings(run_audit(folder, source, vectors=True))
    return {
        key: change.after for key, change in found.items() if change.category is Category.BEHAVIOUR
    }


def test_null_for_what_may_be_absent_is_one_finding(tmp_path: Path) -> None:
    source = f"""{ICON}
    class Annotations(BaseModel):
        model_config = ConfigDict(extra="allow")
        audience: list[Literal["user", "assistant"]] | None = None
        lastModified: str | None = None
        priority: float | None = Field(None, ge=0, le=1, strict=True)
    """
    found = behaviour(tmp_path, source)
    assert set(found) == {("accepts-invalid", "null")}
    annotations = (f"Annotations.{name}" for name in ("audience", "lastModified", "priority"))
    shown = ", ".join([*annotations, "Icon.mimeType", "Icon.sizes"])
    said = found["accepts-invalid", "null"]
    assert said.startswith(f"accepted in {shown} and 1 more (6 vectors, ")


def test_a_lenient_reader_is_one_finding_for_each_mistake(tmp_path: Path) -> None:
    source = f"""{PYDANTIC}
    class ToolAnnotations(BaseModel):
        model_config = ConfigDict(extra="allow")
        title: str = ""
        readOnlyHint: bool = False
        destructiveHint: bool = False
        idempotentHint: bool = False
        openWorldHint: bool = False
    """
    found = behaviour(tmp_path, source)
    lenient = found["accepts-invalid", "string for boolean"]
    assert "ToolAnnotations.destructiveHint, ToolAnnotations.idempotentHint" in lenient
    assert ("adds-member", "ToolAnnotations.readOnlyHint") in found


def test_valid_values_that_are_refused_are_found(tmp_path: Path) -> None:
    source = ICON.replace("src: str", "src: str = Field(min_length=100)")
    assert "at least 100 characters" in behaviour(tmp_path, source)["refuses-valid", "Icon"]


def test_null_that_has_to_be_there_is_missed_when_it_is_left_out(tmp_path: Path) -> None:
    source = f"""{PYDANTIC}
    class Task(BaseModel):
        model_config = ConfigDict(extra="allow")
        taskId: str
        status: Literal["working", "input_required", "completed", "failed", "cancelled"]
        createdAt: str
        lastUpdatedAt: str
        ttl: int | None
        statusMessage: str | None = None
        pollInterval: int | None = None
    """
    made = write_sdk(tmp_path, source)
    lost = findings(audit(made, REVISION))
    kept = findings(audit(made, REVISION, AuditOptions(written="all")))
    assert ("loses-member", "Task.ttl") in lost
    assert ("loses-member", "Task.ttl") not in kept


def test_missing_member_is_not_reported_twice(tmp_path: Path) -> None:
    source = "\n".join(line for line in ICON.splitlines() if "theme" not in line)
    found = findings(run_audit(tmp_path, source, vectors=True))
    assert ("field-missing", "Icon.theme") in found
    assert not any(item == "Icon.theme" for code, item in found if code == "accepts-invalid")


def test_hidden_type_is_tried_where_it_is_visible(tmp_path: Path) -> None:
    source = ICON.replace('Literal["light", "dark"]', "str") + """
    class Tool(BaseModel):
        model_config = ConfigDict(extra="allow")
        name: str
        inputSchema: dict[str, Any]
        icons: list[dict[str, Any]] | None = None
    """
    found = findings(run_audit(tmp_path, source, vectors=True))
    assert ("field-untyped", "Tool.icons[]") in found
    lenient = {item for code, item in found if code == "accepts-invalid"}
    assert lenient == {"null", "Icon.theme enum"}


def test_two_rules_about_one_member_are_two_findings(tmp_path: Path) -> None:
    source = f"""{PYDANTIC}
    class Annotations(BaseModel):
        model_config = ConfigDict(extra="allow", strict=True)
        audience: list[Literal["user", "assistant"]] | None = None
        priority: float | None = None
        lastModified: str | None = None
    """
    bounds = {item for _, item in behaviour(tmp_path, source)} - {"null"}
    assert bounds == {"Annotations.priority maximum", "Annotations.priority minimum"}


def test_findings_are_named_in_schema_terms(tmp_path: Path) -> None:
    """Baselines know findings by it: the words of vectors may change at any time."""
    source = f"""{PYDANTIC}
    class Task(BaseModel):
        model_config = ConfigDict(extra="allow")
        taskId: str
        status: str
        createdAt: str
        lastUpdatedAt: str
        ttl: int | None
        statusMessage: str | None = None
        pollInterval: int | None = None
    """
    accepted = {item for code, item in behaviour(tmp_path, source) if code == "accepts-invalid"}
    assert accepted == {"TaskStatus enum", "boolean for integer", "null", "string for integer"}


def test_mistake_is_named_at_the_member_that_accepts_it_and_not_at_a_type_that_refuses_it(
    tmp_path: Path,
) -> None:
    source = f"""{PYDANTIC}
    class RequestId(RootModel[int | str]):
        model_config = ConfigDict(strict=True)

    class CancelledNotificationParams(BaseModel):
        model_config = ConfigDict(extra="allow")
        requestId: int | str
        reason: str | None = None

    class PingRequest(BaseModel):
        model_config = ConfigDict(extra="allow")
        jsonrpc: Literal["2.0"]
        id: int | str
        method: Literal["ping"]
        params: dict[str, Any] | None = None

    class LoggingLevel(RootModel[Literal["debug", "info", "notice", "warning", "error",
                                         "critical", "alert", "emergency"]]):
        pass

    class SetLevelRequestParams(BaseModel):
        model_config = ConfigDict(extra="allow")
        level: str
    """
    lenient = ("accepts-invalid", "boolean for integer or string")
    found = findings(run_audit(tmp_path / "one", source, vectors=True))
    assert {*found[lenient].places} == {
        "CancelledNotificationParams.requestId",
        "JSONRPCRequest.id",
    }
    assert ("accepts-invalid", "SetLevelRequestParams.level enum") in found
    assert ("accepts-invalid", "LoggingLevel enum") not in found
    # A type that accepts it itself is named, and so is one that the SDK lacks.
    accepting = source.replace("strict=True", "strict=False")
    for name, changed in (("two", accepting), ("three", source.replace("RequestId(", "Other("))):
        change = findings(run_audit(tmp_path / name, changed, vectors=True))[lenient]
        assert "accepted in RequestId (" in change.after, change


def test_null_is_not_missed_where_every_undeclared_member_is_dropped(tmp_path: Path) -> None:
    source = f"""{PYDANTIC}
    class Result(BaseModel):
        model_config = ConfigDict(extra="allow")
        meta: dict[str, Any] | None = Field(None, alias="_meta")
    """
    keeping = behaviour(tmp_path, source)
    dropping = behaviour(tmp_path, source.replace('extra="allow"', 'extra="ignore"'))
    assert "Result/valid/undeclared-null" in keeping["loses-null", "null"]
    assert "Result/valid/undeclared-null" not in dropping.get(("loses-null", "null"), "")


def test_places_are_found_inside_other_types_and_under_keys_with_dots() -> None:
    key = "io.modelcontextprotocol/serverInfo"
    untyped = AuditFinding("field-untyped", "", "", place=("ResultMetaObject", key))
    known = find_gaps([untyped], frozenset(), load_expected("2026-07-28"))
    message = Subject(method="tools/list", kind="result", sender="server")
    pointer = "/io.modelcontextprotocol~1serverInfo/name"
    assert known.is_unseen(Subject(type="ResultMetaObject"), pointer)
    assert known.is_unseen(message, f"/result/_meta{pointer}")
    assert not known.is_unseen(message, "/result/_meta/name")


def test_an_envelope_of_its_own_is_put_around_messages(tmp_path: Path) -> None:
    """Messages are read in two steps, and each step can refuse."""
    source = f"""{PYDANTIC}
    class JSONRPCRequest(BaseModel):
        jsonrpc: Literal["2.0"]
        id: int | str
        method: str
        params: dict[str, Any] | None = None

    class PingRequest(BaseModel):
        model_config = ConfigDict(extra="allow")
        method: Literal["ping"]
        params: dict[str, Any] | None = None
    """
    made = write_sdk(tmp_path, source)
    command = responder_command(made.path[0], REVISION)
    asked: dict[str, Any] = {
        "type": "PingRequest",
        "value": {"jsonrpc": "2.0", "id": 1, "method": "ping"},
    }
    other: dict[str, Any] = {"type": "PingRequest", "value": {"method": "ping"}}
    answers = converse(command, [{"id": "a", **asked}, {"id": "b", **other}])
    assert answers[0] == {"id": "a", "verdict": "accepted", "value": asked["value"]}
    assert answers[1]["verdict"] == "refused"
    assert "jsonrpc: Field required" in answers[1]["error"]


def test_an_envelope_that_there_is_no_type_for_is_missing_and_not_tried(tmp_path: Path) -> None:
    messages = "".join(f"""
    class {name}(BaseModel):
        model_config = ConfigDict(extra="forbid")
        method: Literal[{method!r}]
        params: Any = None
        """ for name, method in (("PingRequest", "ping"), ("ListToolsRequest", "tools/list")))
    found = run_audit(tmp_path, PYDANTIC + messages, vectors=True)
    assert ("type-missing", "JSONRPCRequest") in findings(found)
    tried = [c for c in found.comparison.changes if c.category is Category.BEHAVIOUR]
    about = {place for change in tried for place in (change.item, *change.places)}
    assert not {place for place in about if place.endswith((".jsonrpc", ".id", "RequestId"))}
    # Further members are refused, but no required ones.
    refused = [change for change in tried if change.code == "refuses-valid"]
    assert {change.item for change in refused} == {"ListToolsRequest.x-undeclared"}


def test_types_without_pydantic_are_held_to_what_they_say(tmp_path: Path) -> None:
    source = """
        import dataclasses
        @dataclasses.dataclass
        class Icon:
            src: str
            mime_type: str | None = None
            sizes: list[str] | None = None
            theme: str | None = None
        """
    made = write_sdk(tmp_path, source)
    command = responder_command(made.path[0], REVISION)
    values: list[Any] = [{"src": "a", "mimeType": "b"}, {"src": "a", "mimeType": 1}, {}, []]
    asked: list[dict[str, Any]] = [
        {"id": str(index), "type": "Icon", "value": value} for index, value in enumerate(values)
    ]
    asked.append({"id": "9", "type": "Tool", "value": {}})
    verdicts = [answer["verdict"] for answer in converse(command, asked)]
    assert verdicts == ["accepted", "refused", "refused", "refused", "unknown"]


def test_a_class_that_reads_and_writes_itself_is_asked(tmp_path: Path) -> None:
    source = """
        import dataclasses
        @dataclasses.dataclass
        class Root:
            uri: str

            @classmethod
            def from_dict(cls, value):
                return cls(value["uri"])

            def to_dict(self):
                return {"uri": self.uri.upper()}
        """
    command = responder_command(write_sdk(tmp_path, source).path[0], REVISION)
    good: dict[str, Any] = {"id": "1", "type": "Root", "value": {"uri": "a"}}
    answers = converse(command, [good, {**good, "id": "2", "value": {}}])
    assert answers[0]["value"] == {"uri": "A"}
    assert answers[1]["error"] == "KeyError: 'uri'"


def test_a_value_that_cannot_be_written_again_is_no_end_of_the_audit(tmp_path: Path) -> None:
    source = f"""{PYDANTIC}
    from pydantic import field_serializer

    class Root(BaseModel):
        uri: str

        @field_serializer("uri")
        def write(self, uri: str) -> str:
            raise RuntimeError("no ink")
    """
    assert "no ink" in behaviour(tmp_path, source)["refuses-valid", "Root"]


def test_validator_messages_are_quoted_verbatim() -> None:
    def refuse(value: int) -> int:
        raise ValueError("not on Sundays")

    catalogue: Any = SimpleNamespace(
        objects={"Day": Annotated[int, AfterValidator(refuse)]}, types={"Day": {}}
    )
    read = Readers(catalogue, "none").read(("Day",), 5)
    assert read is not None and read.error == ": not on Sundays"


def test_a_responder_can_be_started_again_and_leaves_no_file_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    command = responder_command(write_sdk(tmp_path / "sdk", ICON).path[0], REVISION)
    asked: dict[str, Any] = {"id": "1", "type": "Icon", "value": {"src": "a"}}
    for _ in range(2):
        assert converse(command, [asked])[0]["verdict"] == "accepted"
    assert list(temporary.iterdir()) == []


def test_responder_answers_beside_modules_that_fail_to_import(tmp_path: Path) -> None:
    package = tmp_path / "sdk"
    write_sdk(package, ICON, "icons")
    for name, text in (("__init__", ""), ("broken", "import no_such_dependency")):
        (package / f"{name}.py").write_text(text)
    asked: dict[str, Any] = {"id": "1", "type": "Icon", "value": {"src": "a"}}
    (answer,) = converse(responder_command(str(package), REVISION), [asked])
    assert answer["verdict"] == "accepted"


def test_a_value_that_ends_the_sdk_does_not_end_the_audit(tmp_path: Path) -> None:
    source = f"""{PYDANTIC}
    from pydantic import field_validator

    class Icon(BaseModel):
        model_config = ConfigDict(extra="allow")
        src: str
        mimeType: str | None = None
        sizes: list[str] | None = None
        theme: str | None = None

        @field_validator("theme")
        @classmethod
        def check(cls, theme: str) -> str:
            return theme if theme == "dark" else exit(3)
    """
    found = behaviour(tmp_path, source)
    assert any("ended" in said for said in found.values())


def test_problems_with_a_responder_name_the_sdk(tmp_path: Path) -> None:
    source = "import sys\nif 'respond' in sys.argv: sys.exit('not today')\n" + ROOT
    with pytest.raises(ProblemError) as raised:
        audit(write_sdk(tmp_path, source), REVISION)
    assert raised.value.problems[0].place == str(tmp_path)


def converse(command: Sequence[str], asked: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The answers of a responder to some questions, its hello left out."""
    start: dict[str, Any] = {"responder": 1, "revision": REVISION}
    done = subprocess.run(
        command,
        input="".join(f"{json.dumps(line)}\n" for line in (start, *asked)),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    hello, *answers = map(json.loads, done.stdout.splitlines())
    assert hello["responder"] == 1
    assert "error" not in hello
    assert command[0] == sys.executable
    return answers
