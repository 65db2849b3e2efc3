"""The steps by which a client finds out which features get through, and their results.

Written once for all revisions, against the stubs of the client's own revision.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from mcp_protogen.base.jsonvalue import is_array
from mcp_revisions import Progress
from mcp_revisions.v2025_11_25.models import (
    CreateMessageRequestParams,
    ElicitRequestFormParams,
    LoggingMessageNotificationParams,
    NotificationParams,
    RequestParams,
    ResourceUpdatedNotificationParams,
)
from support.coroutines import until
from support.json_types import JsonObject

URI: Final = "file:///a"


def client_of(mcp: Any) -> Any:
    """Return a client of the revision of the module `mcp`, with a handler for every request."""
    m = mcp.models

    class Everything(mcp.Client):  # type: ignore[misc]
        def __init__(self) -> None:
            self.logs: list[object] = []
            self.changes: list[str] = []
            self.followed = 0

        async def on_create_message(self, params: CreateMessageRequestParams) -> object:
            text = m.TextContent(text="sampled")
            return m.CreateMessageResult(role="assistant", model="model", content=text)

        async def on_list_roots(self, params: RequestParams) -> object:
            return m.ListRootsResult(roots=[m.Root(uri="file:///root")])

        async def on_logging_message(self, params: LoggingMessageNotificationParams) -> None:
            self.logs.append(params.data)

        async def on_resource_updated(self, params: ResourceUpdatedNotificationParams) -> None:
            self.changes.append("resource")

        async def on_tool_list_changed(self, params: NotificationParams) -> None:
            self.changes.append("tools")

    if hasattr(mcp.Client, "on_subscriptions_acknowledged"):

        async def on_acknowledged(self: Any, params: NotificationParams) -> None:
            self.followed += 1

        setattr(Everything, "on_subscriptions_acknowledged", on_acknowledged)  # noqa: B010

    if hasattr(mcp.Client, "on_elicit"):

        async def on_elicit(self: object, params: ElicitRequestFormParams) -> object:
            fields = params.requested_schema.to_wire()["properties"]
            known = {name: field for name, field in fields.items() if name in _ENTERED}
            content = {name: _enter_field(name, field) for name, field in known.items()}
            return m.ElicitResult(action="accept", content=content)

        setattr(Everything, "on_elicit", on_elicit)  # noqa: B010 (not in every revision)
    return Everything()


_ENTERED: Final = {"name": "ada", "color": "red", "sizes": "s, m", "taste": "none of them"}


def _enter_field(name: str, field: JsonObject) -> object:
    """Return the input for a field of a form; for multiple choices in the form's own way."""
    return ["s", "m"] if field["type"] == "array" else _ENTERED[name]


class Use:
    """One client at work, by feature."""

    def __init__(self, client: Any, models: Any, prefix: str = "", uri: str = URI) -> None:
        """`prefix` is before the names of the server, and `uri` is that of its resource."""
        self.client = client
        self.m = models
        self.prefix = prefix
        self.uri = uri

    async def text(self, tool: str, /, meta: Any = None, form: str = "name", **options: Any) -> str:
        given = {} if meta is None else {"meta": meta}
        arguments = {"text": "hi", "to": 2, "form": form}
        name = self.prefix + tool
        params = self.m.CallToolRequestParams(name=name, arguments=arguments, **given)
        result = await self.client.request(
            self.client.TABLE.requests["tools/call"], params, **options
        )
        return " ".join(getattr(block, "text", block.type) for block in result.content)

    async def tools(self) -> object:
        names = [tool.name async for tool in self.client.iter_tools()][:2]
        return [name.removeprefix(self.prefix) for name in names]

    async def pages(self) -> object:
        """The names of all tools, and whether they came on more than one page."""
        first = await self.client.list_tools()
        names = [tool.name async for tool in self.client.iter_tools()]
        return names, len(names) > len(first.tools) > 0

    async def structured(self) -> object:
        return (await self.client.call_tool(f"{self.prefix}media", {})).structured_content

    async def poll(self) -> object:
        return await self.text("poll")

    async def call(self) -> object:
        return await self.text("echo")

    async def content(self) -> object:
        return await self.text("media")

    async def progress(self) -> object:
        seen: list[Progress] = []
        await self.text("count", on_progress=seen.append)
        return [tuple(step) for step in seen]

    async def resources(self) -> object:
        listed = await self.client.list_resources()
        return (await self.client.read_resource(listed.resources[0].uri)).contents[0].text

    async def errors(self) -> object:
        """Return whether a missing resource has the error code of the client's revision."""
        try:
            await self.client.read_resource("file:///none")
        except Exception as error:
            wanted = -32002 if hasattr(self.client, "ping") else -32602
            return getattr(error, "code", error) == wanted
        return None

    async def prompts(self) -> object:
        return (
            (await self.client.get_prompt(f"{self.prefix}greet", {"name": "ada"}))
            .messages[0]
            .content.text
        )

    async def completion(self) -> object:
        argument = self.m.CompleteRequestParamsArgument(name="name", value="a")
        reference = self.m.PromptReference(name=f"{self.prefix}greet")
        return (await self.client.complete(reference, argument)).completion.values

    async def sampling(self) -> object:
        return await self.text("sample")

    async def roots(self) -> object:
        return await self.text("roots")

    async def elicitation(self) -> object:
        return await self.text("ask")

    async def single_select(self) -> object:
        return await self.text("ask", form="color")

    async def multi_select(self) -> object:
        return await self.text("ask", form="sizes")

    async def wrong_choice(self) -> object:
        """Return whether an invalid choice is refused as such."""
        try:
            return await self.text("ask", form="taste")
        except Exception as error:
            if getattr(error, "code", 0) != -32602:
                raise
            return "refused"

    async def logging(self) -> object:
        meta = None
        if hasattr(self.client, "set_level"):
            await self.client.set_level("info")
        else:
            usual = self.m.CallToolRequestParams(name="log").meta
            meta = usual.model_copy(update={"log_level": "info"})
        await self.text("log", meta=meta)
        return self.client.logs[-1]

    async def changes(self) -> object:
        self.client.changes.clear()
        if hasattr(self.client, "subscribe"):
            await self.client.subscribe(self.uri)
            await self.text("change")
        else:
            await self._listen_to_changes()
        await until(lambda: len(self.client.changes) >= 2)
        return sorted(self.client.changes)

    async def _listen_to_changes(self) -> None:
        wanted = self.m.SubscriptionFilter(
            tools_list_changed=True, resource_subscriptions=[self.uri]
        )
        followed = self.client.followed
        stream = asyncio.create_task(self.client.subscriptions_listen(wanted))
        await until(lambda: self.client.followed > followed)
        await self.text("change")
        await until(lambda: len(self.client.changes) >= 2)
        stream.cancel()
        await asyncio.gather(stream, return_exceptions=True)

    async def cancellation(self) -> object:
        try:
            await asyncio.wait_for(self.text("sleep"), 0.2)
        except TimeoutError:
            return await self.text("echo")
        return None

    async def ping(self) -> object:
        if hasattr(self.client, "ping"):
            await self.client.ping()
        return "alive"


NAMES: Final = ["ask", "change", "count", "echo", "log", "roots", "sample", "sleep"]
SEEN: Final[JsonObject] = {
    "pages": (NAMES, True),
    "call": "hi",
    "structured": {"answer": 42},
    "progress": [(number, 3) for number in (1, 2, 3)],
    "resources": "content of a",
    "errors": True,
    "prompts": "Greet ada",
    "completion": ["ada", "alan"],
    "logging": {"said": "logged"},
    "sampling": "model sampled",
    "roots": "file:///root",
    "elicitation": "accept ada",
    "changes": ["resource", "tools"],
    "poll": "done",
    "cancellation": "hi",
    "ping": "alive",
}
"""The result of each feature of `programs/mcp1_server.py` and `programs/mcp2_server.py`."""


def features_of(revision: str, own: str, *without: str) -> list[str]:
    """Return the features in `SEEN` of a revision in a class of another."""
    missing = set(without)
    if min(revision, own) < "2025-06-18":
        missing |= {"elicitation", "structured"}
    return [feature for feature in SEEN if feature not in missing]


def check_seen(seen: JsonObject) -> None:
    """Require that each feature has its result, whatever progress says in words."""
    if is_array(progress := seen.get("progress")):
        seen = {**seen, "progress": [step[:2] for step in progress]}
    assert seen == {feature: SEEN[feature] for feature in seen}


FEATURES: Final = (
    "tools",
    "call",
    "content",
    "progress",
    "resources",
    "errors",
    "prompts",
    "completion",
    "sampling",
    "roots",
    "elicitation",
    "single_select",
    "multi_select",
    "wrong_choice",
    "logging",
    "changes",
    "cancellation",
    "ping",
)


async def outcomes(use: Use, features: Iterable[str] = FEATURES) -> JsonObject:
    """Return the result of each feature, or the error it ends with."""
    return {feature: await _outcome(use, feature) for feature in features}


async def _outcome(use: Use, feature: str) -> object:
    work: Callable[[], Awaitable[object]] = getattr(use, feature)
    try:
        return await asyncio.wait_for(work(), 10)
    except Exception as error:
        return error
