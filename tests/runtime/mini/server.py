"""The server side of a small revision."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from mcp_protogen.runtime.codec import MethodTable
from mcp_protogen.runtime.errors import MethodNotFound
from mcp_protogen.runtime.peer import ServerBase, SessionBase
from mcp_protogen.runtime.spec import NotificationSpec, RequestSpec

from . import methods
from . import models as m


class Session(SessionBase):
    """One connected client: what a server may send it."""

    TABLE: ClassVar[MethodTable] = methods.TABLE

    async def create_message(self, params: m.CreateMessageRequestParams) -> m.CreateMessageResult:
        """`sampling/createMessage`."""
        return await self.request(methods.CREATE_MESSAGE, params)

    async def elicit(self, params: m.ElicitRequestParams) -> m.ElicitResult:
        """`elicitation/create`."""
        return await self.request(methods.ELICIT, params)

    async def ping(self, params: m.RequestParams) -> m.EmptyResult:
        """`ping`."""
        return await self.request(methods.PING, params)

    async def notify_logging_message(self, params: m.LoggingMessageNotificationParams) -> None:
        """`notifications/message`."""
        await self.notify(methods.LOGGING_MESSAGE, params)

    async def notify_progress(self, params: m.ProgressNotificationParams) -> None:
        """`notifications/progress`."""
        await self.notify(methods.PROGRESS, params)

    async def notify_tool_list_changed(self, params: m.NotificationParams) -> None:
        """`notifications/tools/list_changed`."""
        await self.notify(methods.TOOL_LIST_CHANGED, params)


class Server(ServerBase[Session]):
    """Answers requests. A method left alone answers 'method not found' and is not advertised."""

    SESSION: ClassVar[type[Session]] = Session
    TABLE: ClassVar[MethodTable] = methods.TABLE
    REQUESTS: ClassVar[Mapping[str, tuple[RequestSpec[Any, Any], str]]] = MappingProxyType(
        {
            "completion/complete": (methods.COMPLETE, "on_complete"),
            "ping": (methods.PING, "on_ping"),
            "resources/read": (methods.READ_RESOURCE, "on_read_resource"),
            "tools/call": (methods.CALL_TOOL, "on_call_tool"),
            "tools/list": (methods.LIST_TOOLS, "on_list_tools"),
        }
    )
    NOTIFICATIONS: ClassVar[Mapping[str, tuple[NotificationSpec[Any], str]]] = MappingProxyType(
        {"notifications/progress": (methods.PROGRESS, "on_progress")}
    )

    async def on_complete(self, session: Session, params: m.CompleteRequestParams) -> m.EmptyResult:
        """`completion/complete`."""
        raise MethodNotFound("completion/complete")

    async def on_ping(self, session: Session, params: m.RequestParams) -> m.EmptyResult:
        """`ping`."""
        raise MethodNotFound("ping")

    async def on_read_resource(
        self, session: Session, params: m.ReadResourceRequestParams
    ) -> m.ReadResourceResult | m.InputRequiredResult:
        """`resources/read`."""
        raise MethodNotFound("resources/read")

    async def on_call_tool(
        self, session: Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult | m.CreateTaskResult:
        """`tools/call`."""
        raise MethodNotFound("tools/call")

    async def on_list_tools(
        self, session: Session, params: m.PaginatedRequestParams
    ) -> m.ListToolsResult:
        """`tools/list`."""
        raise MethodNotFound("tools/list")

    async def on_progress(self, session: Session, params: m.ProgressNotificationParams) -> None:
        """`notifications/progress`."""
