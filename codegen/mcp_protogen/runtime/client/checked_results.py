"""Clients that check structured tool results against the tools' output schemas.

2025-11-25, server/tools, "Output Schema": clients SHOULD.
"""

from asyncio import get_running_loop, timeout_at
from collections.abc import Iterable, Mapping
from functools import partial
from logging import getLogger
from typing import Any, Final, Unpack, cast

from ..connection import Pending
from ..core.connection_errors import Disconnected, RequestTimeout
from ..core.errors import InvalidAnswer, Problem, ProtocolError
from ..core.json import json_text
from ..core.models.base import has_failed, member_at
from ..core.options import CallOptions
from ..core.recent_names import RecentNames
from ..core.schema_validation import Check, checker
from ..core.spec import CALL_TOOL, LIST_TOOLS, P, R, RequestSpec
from .base import ClientBase
from .tool_results import has_data, pointer_of, request_data

_log: Final = getLogger(__name__)

_LARGEST: Final = 1024 * 1024


class KnownTools:
    def __init__(self, client: Any) -> None:
        self._client = client
        self.checks: RecentNames[Check | None] = RecentNames()
        self._changes = 0

    async def begin(self, name: str, options: CallOptions) -> tuple[Pending, bool]:
        """Return the time budget of a call, and whether the tool was listed for it."""
        runtime = self._client.__mcp_runtime__
        if runtime.tool_list_changes != self._changes:
            self.checks, self._changes = RecentNames(), runtime.tool_list_changes
        spec = self._client.TABLE.spec_of(CALL_TOOL)
        patience = runtime.endpoint.options.patience(spec, options)
        call = Pending(spec, patience, progress=False, now=_time())
        is_new = name not in self.checks
        if is_new:
            await self.is_listed(name, call)
        return call, is_new

    async def check_result(self, name: str, result: Any, call: Pending | None) -> None:
        """Raise `InvalidAnswer` for an invalid result; `call` has time to list the tools again."""
        try:
            self._check(name, result)
        except InvalidAnswer as unfit:
            if call is None:
                raise
            call.renew(_time())
            if self._client.cache is not None:
                self._client.cache.clear(self._client.TABLE.name_of(LIST_TOOLS))
            try:
                listed = await self.is_listed(name, call)
            except (RequestTimeout, Disconnected):
                raise unfit from None
            if not listed:
                raise
            self._check(name, result)

    async def is_listed(self, name: str, call: Pending) -> bool:
        """List the tools within the time of a call; return whether the tool is there."""
        try:
            async with timeout_at(call.due):
                async for tool in self._client.iter_tools():
                    if tool.name == name:
                        return name in self.checks
        except ProtocolError as error:
            # The call itself need not fail.
            _log.warning("results are not checked, because the tools cannot be listed: %s", error)
        except TimeoutError:
            raise RequestTimeout(call.spec.method, call.seconds) from None
        return False

    def learn(self, tools: Iterable[Any]) -> None:
        for tool in tools:
            schema = member_at(tool, self._client.TABLE.rules.output_schema)
            check = None if schema is None else _usable(tool.name, schema)
            self.checks.learn(tool.name, check, schema if check else None)

    def _check(self, name: str, result: Any) -> None:
        if (check := self.checks.get(name)) is None or has_failed(result):
            return
        if has_data(result):
            faults, what = check(result.data), "does not fit its output schema"
        else:
            faults = [Problem("", "Field required")]
            what = "has no structured content, which its output schema requires"
        if faults:
            at = pointer_of(result, structured=True)
            problems = [(at + pointer, message) for pointer, message in faults]
            raise InvalidAnswer(f"the result of {name} {what}", problems)


def find_known_tools(client: object) -> KnownTools:
    # A user's __init__ need not call ours.
    tools: KnownTools = client.__dict__.setdefault("_checked_tools", KnownTools(client))
    return tools


class CheckedResults:
    """A mixin that checks the results of tools: `class Mine(CheckedResults, mcp.Client)`.

    It needs the package jsonschema. An invalid result raises `InvalidAnswer`. The client lists the
    tools before it calls an unknown one, after an invalid result, and after a notification, because
    the schema may have changed; the timeout of the call includes this. An unusable schema is
    ignored, and so is a pattern that cannot be matched in linear time, such as one with
    look-around; the log warns.
    """

    async def request(
        self, spec: RequestSpec[P, R, Any], params: P | None, **options: Unpack[CallOptions]
    ) -> R:
        client = cast(ClientBase, super())
        tools = find_known_tools(self)
        if spec.known_as != CALL_TOOL:
            result = await client.request(spec, params, **options)
            if spec.known_as == LIST_TOOLS:
                tools.learn(member_at(result, (spec.items,), ()))
            return result
        name: str = cast(Any, params).name
        call, is_new = await tools.begin(name, options)
        if is_new:
            if name not in tools.checks:
                tools.checks.learn(name, None, None)
            options = {**options, **call.remaining_options(_time())}
        if tools.checks.get(name):
            params = request_data(spec, params, client.TABLE.rules.requested_outputs)
        result = await client.request(spec, params, **options)
        if isinstance(result, spec.results[0]):
            await tools.check_result(name, result, None if is_new else call)
        return result


def _time() -> float:
    return get_running_loop().time()


def _usable(name: str, schema: Mapping[str, Any]) -> Check | None:
    label = f"the output schema of {name[:100]}"
    try:
        if len(json_text(schema)) > _LARGEST:
            raise ValueError(f"{label} is too large")
        report = partial(_log.warning, "%s: %s", label)
        return checker(schema, label, of_objects=False, report=report)
    except ValueError as error:
        _log.warning("results are not checked: %s", error)
        return None
