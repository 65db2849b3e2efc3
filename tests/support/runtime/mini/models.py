"""Message models of a small revision."""

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from mcp_protogen.runtime.core.models import (
    Integer,
    Nullable,
    Number,
    OpenUnion,
    ToolResult,
    UnknownContent,
    WireModel,
)
from pydantic import Field

ProgressToken: TypeAlias = str | Integer


class RequestParamsMeta(WireModel):
    progress_token: Annotated[ProgressToken | None, Field(alias="progressToken")] = None
    """Opts in to progress notifications."""


class RequestParams(WireModel):
    meta: Annotated[RequestParamsMeta | None, Field(alias="_meta")] = None


class NotificationParams(WireModel):
    meta: Annotated[dict[str, Any] | None, Field(alias="_meta")] = None


class PaginatedRequestParams(RequestParams):
    cursor: str | None = None


class EmptyResult(WireModel):
    meta: Annotated[dict[str, Any] | None, Field(alias="_meta")] = None


class Annotations(WireModel):
    """Hints on audience and priority."""

    audience: list[Literal["user", "assistant"]] | None = None
    priority: Annotated[Number | None, Field(ge=0, le=1)] = None


class TextContent(WireModel):
    annotations: Annotations | None = None
    meta: Annotated[dict[str, Any] | None, Field(alias="_meta")] = None
    text: str
    type: Literal["text"] = "text"


class ImageContent(WireModel):
    annotations: Annotations | None = None
    data: str
    meta: Annotated[dict[str, Any] | None, Field(alias="_meta")] = None
    mime_type: Annotated[str, Field(alias="mimeType")]
    type: Literal["image"] = "image"


class ResourceLink(WireModel):
    name: str
    size: Integer | None = None
    type: Literal["resource_link"] = "resource_link"
    uri: str


ContentBlock: TypeAlias = Annotated[
    TextContent | ImageContent | ResourceLink | UnknownContent, OpenUnion("type")
]


class PromptReference(WireModel):
    name: str
    type: Literal["ref/prompt"] = "ref/prompt"


class ResourceReference(WireModel):
    type: Literal["ref/resource"] = "ref/resource"
    uri: str


Reference: TypeAlias = Annotated[PromptReference | ResourceReference, Field(discriminator="type")]


class CompleteRequestParams(RequestParams):
    ref: Reference


class TaskMetadata(WireModel):
    ttl: Integer | None = None


class Task(WireModel):
    """Work that continues after the answer to its request."""

    poll_interval: Annotated[Integer | None, Field(alias="pollInterval", ge=0)] = None
    status: Literal["working", "completed"]
    status_message: Annotated[str | None, Field(alias="statusMessage")] = None
    task_id: Annotated[str, Field(alias="taskId")]
    ttl: Integer | None


class CreateTaskResult(WireModel):
    meta: Annotated[dict[str, Any] | None, Field(alias="_meta")] = None
    task: Task


class CallToolRequestParams(RequestParams):
    arguments: dict[str, Any] | None = None
    name: str
    task: TaskMetadata | None = None


class CallToolResult(ToolResult):
    content: list[ContentBlock]
    is_error: Annotated[bool | None, Field(alias="isError")] = None
    meta: Annotated[dict[str, Any] | None, Field(alias="_meta")] = None
    structured_content: Annotated[dict[str, Any] | None, Field(alias="structuredContent")] = None


class InputRequiredResult(WireModel):
    """The server needs something before it can answer."""

    ANY_OF_REQUIRED: ClassVar = ("inputRequests", "requestState")

    input_requests: Annotated[dict[str, Any] | None, Field(alias="inputRequests")] = None
    request_state: Annotated[str | None, Field(alias="requestState")] = None
    result_type: Annotated[Literal["input_required"], Field(alias="resultType")] = "input_required"


class ReadResourceRequestParams(RequestParams):
    uri: str


class ReadResourceResult(WireModel):
    contents: list[dict[str, Any]]
    expires: Annotated[Integer | None, Nullable] = None
    """Null: never; absent: not known."""
    extra: Any = None
    result_type: Annotated[str, Field(alias="resultType")]


class Tool(WireModel):
    annotations: Annotations | None = None
    description: str | None = None
    input_schema: Annotated[dict[str, Any], Field(alias="inputSchema")]
    meta: Annotated[dict[str, Any] | None, Field(alias="_meta")] = None
    name: str
    output_schema: Annotated[dict[str, Any] | None, Field(alias="outputSchema")] = None
    title: str | None = None


class ListToolsResult(WireModel):
    meta: Annotated[dict[str, Any] | None, Field(alias="_meta")] = None
    next_cursor: Annotated[str | None, Field(alias="nextCursor")] = None
    tools: list[Tool]


class SamplingMessage(WireModel):
    content: ContentBlock | list[ContentBlock]
    role: Literal["user", "assistant"]


class CreateMessageRequestParams(RequestParams):
    include_context: Annotated[str | None, Field(alias="includeContext")] = None
    max_tokens: Annotated[Integer, Field(alias="maxTokens")]
    messages: list[SamplingMessage]
    tool_choice: Annotated[dict[str, Any] | None, Field(alias="toolChoice")] = None
    tools: list[Tool] | None = None


class CreateMessageResult(WireModel):
    content: ContentBlock | list[ContentBlock]
    model: str
    role: Literal["user", "assistant"]


class ElicitRequestFormParams(RequestParams):
    message: str
    mode: Literal["form"] | None = None
    requested_schema: Annotated[dict[str, Any], Field(alias="requestedSchema")]


class ElicitRequestURLParams(RequestParams):
    """Asks the user to visit a page."""

    message: str
    mode: Literal["url"] = "url"
    url: str


ElicitRequestParams: TypeAlias = ElicitRequestFormParams | ElicitRequestURLParams


class ElicitResult(WireModel):
    action: Literal["accept", "decline", "cancel"]
    content: dict[str, str | Number | bool | list[str]] | None = None


class ProgressNotificationParams(NotificationParams):
    message: str | None = None
    progress: Number
    progress_token: Annotated[ProgressToken, Field(alias="progressToken")]
    total: Number | None = None


class LoggingMessageNotificationParams(NotificationParams):
    data: Any
    level: Literal["debug", "error"]
