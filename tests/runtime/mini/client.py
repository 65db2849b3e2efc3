"""The client side of a small revision."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from mcp_protogen.runtime.codec import MethodTable
from mcp_protogen.runtime.errors import MethodNotFound
from mcp_protogen.runtime.peer import ClientBase
from mcp_protogen.runtime.spec import NotificationSpec, RequestSpec

from . import methods
from . import models as m


class Client(ClientBase):
    """A connection to a server."""

    TABLE: ClassVar[MethodTable] = methods.TABLE
    REQUESTS: ClassVar[Mapping[str, tuple[RequestSpec[Any, Any], str]]] = MappingProxyType(
        {
            "elicitation/create": (methods.ELICIT, "on_elicit"),
            "ping": (methods.PING, "on_ping"),
            "sampling/createMessage": (methods.CREATE_MESSAGE, "on_create_message"),
        }
    )
    NOTIFICATIONS: ClassVar[Mapping[str, tuple[NotificationSpec[Any], str]]] = MappingProxyType(
        {
            "notifications/message": (methods.LOGGING_MESSAGE, "on_logging_message"),
            "notifications/progress": (methods.PROGRESS, "on_progress"),
            "notifications/tools/list_changed": (
                methods.TOOL_LIST_CHANGED,
                "on_tool_list_changed",
            ),
        }
    )

    async def call_tool(
        self, params: m.CallToolRequestParams
    ) -> m.CallToolResult | m.CreateTaskResult:
        """`tools/call`."""
        return await self.request(methods.CALL_TOOL, params)

    async def complete(self, params: m.CompleteRequestParams) -> m.EmptyResult:
        """`completion/complete`."""
        return await self.request(methods.COMPLETE, params)

    async def list_tools(self, params: m.PaginatedRequestParams) -> m.ListToolsResult:
        """`tools/list`."""
        return await self.request(methods.LIST_TOOLS, params)

    async def ping(self, params: m.RequestParams) -> m.EmptyResult:
        """`ping`."""
        return await self.request(methods.PING, params)

    async def read_resource(
        self, params: m.ReadResourceRequestParams
    ) -> m.ReadResourceResult | m.InputRequiredResult:
        """`resources/read`."""
        return await self.request(methods.READ_RESOURCE, params)

    async def notify_progress(self, params: m.ProgressNotificationParams) -> None:
        """`notifications/progress`."""
        await self.notify(methods.PROGRESS, params)

    async def on_create_message(
        self, params: m.CreateMessageRequestParams
    ) -> m.CreateMessageResult:
        """`sampling/createMessage`."""
        raise MethodNotFound("sampling/createMessage")

    async def on_elicit(self, params: m.ElicitRequestParams) -> m.ElicitResult:
        """`elicitation/create`."""
        raise MethodNotFound("elicitation/create")

    async def on_ping(self, params: m.RequestParams) -> m.EmptyResult:
        """`ping`."""
        raise MethodNotFound("ping")

    async def on_logging_message(self, params: m.LoggingMessageNotificationParams) -> None:
        """`notifications/message`."""

    async def on_progress(self, params: m.ProgressNotificationParams) -> None:
        """`notifications/progress`."""

    async def on_tool_list_changed(self, params: m.NotificationParams) -> None:
        """`notifications/tools/list_changed`."""
