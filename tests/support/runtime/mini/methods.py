"""Methods of a small revision."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from mcp_protogen.runtime.core.spec import (
    AnyRequest,
    Condition,
    ErrorSpec,
    NotificationSpec,
    RequestSpec,
    Requirement,
)
from mcp_protogen.runtime.messages.method_table import MethodTable

from . import capabilities as c
from . import models as m

REVISION: Final = "2025-11-25"

CALL_TOOL: Final[
    RequestSpec[m.CallToolRequestParams, m.CallToolResult, m.CallToolResult | m.CreateTaskResult]
] = RequestSpec(
    "tools/call",
    senders=frozenset({"client"}),
    load_params=lambda: m.CallToolRequestParams,
    load_results=lambda: (m.CallToolResult, m.CreateTaskResult),
    requires=(Requirement(c.SERVER_TOOLS, "MUST", "client", source="server/tools#capabilities"),),
    traits=frozenset({"cancellable"}),
    phase="ready",
    since="2024-11-05",
)
COMPLETE: Final[RequestSpec[m.CompleteRequestParams, m.EmptyResult, m.EmptyResult]] = RequestSpec(
    "completion/complete",
    senders=frozenset({"client"}),
    load_params=lambda: m.CompleteRequestParams,
    load_results=lambda: (m.EmptyResult,),
    requires=(Requirement(c.SERVER_COMPLETIONS, "MUST", "client"),),
)
CREATE_MESSAGE: Final[
    RequestSpec[m.CreateMessageRequestParams, m.CreateMessageResult, m.CreateMessageResult]
] = RequestSpec(
    "sampling/createMessage",
    senders=frozenset({"server"}),
    load_params=lambda: m.CreateMessageRequestParams,
    load_results=lambda: (m.CreateMessageResult,),
    requires=(
        Requirement(c.CLIENT_SAMPLING, "MUST", "server"),
        Requirement(
            c.CLIENT_SAMPLING_TOOLS,
            "MUST",
            "server",
            when=(Condition("tools"), Condition("toolChoice")),
        ),
        Requirement(
            c.CLIENT_SAMPLING_CONTEXT,
            "SHOULD",
            "server",
            when=(Condition("includeContext", one_of=("thisServer", "allServers")),),
        ),
    ),
)
ELICIT: Final[RequestSpec[m.ElicitRequestParams, m.ElicitResult, m.ElicitResult]] = RequestSpec(
    "elicitation/create",
    senders=frozenset({"server"}),
    load_params=lambda: m.ElicitRequestParams,
    load_results=lambda: (m.ElicitResult,),
    requires=(
        Requirement(c.CLIENT_ELICITATION, "MUST", "server"),
        Requirement(
            c.CLIENT_ELICITATION_FORM,
            "MUST",
            "server",
            when=(Condition("mode", one_of=("form",), or_absent=True),),
        ),
        Requirement(
            c.CLIENT_ELICITATION_URL,
            "MUST",
            "server",
            when=(Condition("mode", one_of=("url",)),),
        ),
    ),
)
LIST_TOOLS: Final[RequestSpec[m.PaginatedRequestParams, m.ListToolsResult, m.ListToolsResult]] = (
    RequestSpec(
        "tools/list",
        senders=frozenset({"client"}),
        load_params=lambda: m.PaginatedRequestParams,
        load_results=lambda: (m.ListToolsResult,),
        requires=(Requirement(c.SERVER_TOOLS, "MUST", "client"),),
        traits=frozenset({"paginated"}),
        params_required=False,
    )
)
PING: Final[RequestSpec[m.RequestParams, m.EmptyResult, m.EmptyResult]] = RequestSpec(
    "ping",
    senders=frozenset({"client", "server"}),
    load_params=lambda: m.RequestParams,
    load_results=lambda: (m.EmptyResult,),
    params_required=False,
)
READ_RESOURCE: Final[
    RequestSpec[
        m.ReadResourceRequestParams,
        m.ReadResourceResult,
        m.ReadResourceResult | m.InputRequiredResult,
    ]
] = RequestSpec(
    "resources/read",
    senders=frozenset({"client"}),
    load_params=lambda: m.ReadResourceRequestParams,
    load_results=lambda: (m.ReadResourceResult, m.InputRequiredResult),
    requires=(Requirement(c.SERVER_RESOURCES, "MUST", "client"),),
)

LOGGING_MESSAGE: Final[NotificationSpec[m.LoggingMessageNotificationParams]] = NotificationSpec(
    "notifications/message",
    senders=frozenset({"server"}),
    load_params=lambda: m.LoggingMessageNotificationParams,
    requires=(Requirement(c.SERVER_LOGGING, "MUST", "server"),),
)
PROGRESS: Final[NotificationSpec[m.ProgressNotificationParams]] = NotificationSpec(
    "notifications/progress",
    senders=frozenset({"client", "server"}),
    load_params=lambda: m.ProgressNotificationParams,
)
TOOL_LIST_CHANGED: Final[NotificationSpec[m.NotificationParams]] = NotificationSpec(
    "notifications/tools/list_changed",
    senders=frozenset({"server"}),
    load_params=lambda: m.NotificationParams,
    requires=(Requirement(c.SERVER_TOOLS_LIST_CHANGED, "MUST", "server"),),
    params_required=False,
)

REQUESTS: Final[Mapping[str, AnyRequest]] = MappingProxyType(
    {
        "completion/complete": COMPLETE,
        "elicitation/create": ELICIT,
        "ping": PING,
        "resources/read": READ_RESOURCE,
        "sampling/createMessage": CREATE_MESSAGE,
        "tools/call": CALL_TOOL,
        "tools/list": LIST_TOOLS,
    }
)
NOTIFICATIONS: Final[Mapping[str, NotificationSpec[Any]]] = MappingProxyType(
    {
        "notifications/message": LOGGING_MESSAGE,
        "notifications/progress": PROGRESS,
        "notifications/tools/list_changed": TOOL_LIST_CHANGED,
    }
)
ERRORS: Final[Mapping[int, ErrorSpec]] = MappingProxyType(
    {-32602: ErrorSpec(-32602, "INVALID_PARAMS")}
)

TABLE: Final = MethodTable(REVISION, requests=REQUESTS, notifications=NOTIFICATIONS, errors=ERRORS)
