"""A cache of results that servers allow to be kept (2026-07-28, server/utilities/caching)."""

from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, Final, NamedTuple

from ..core.errors import McpError
from ..core.json import JSONObject, json_text
from ..core.models.base import declared_member
from ..core.options import CallOptions
from ..core.spec import AnyRequest, CallSpec, Rules
from ..messages.codec import MessageCodec

# Members that answer the server: they do not follow from the request.
_ANSWERS: Final = {"inputResponses", "requestState"}

_LARGEST: Final = 8 * 1024 * 1024

# The longest lifetime, whatever the hint; milliseconds.
_LONGEST: Final = 24 * 60 * 60 * 1000


class _Key(NamedTuple):
    method: str
    result: type[Any]
    params: bytes
    uri: str | None
    owner: object
    """Identifies the connection of a private result; None for a public one."""


class _Entry(NamedTuple):
    until: float
    result: bytes


class Cache:
    """Fresh results, for `client.cache`; the oldest make room for new ones.

    Clients of one server may share a cache: they share results that the server calls public. A
    private result is only for the connection that asked for it. `max_bytes` is for all results.
    """

    def __init__(self, max_bytes: int = _LARGEST) -> None:
        self._max_bytes = max_bytes
        self._kept: dict[_Key, _Entry] = {}
        self._size = 0
        self._changes = 0

    async def request(
        self,
        mark: object,
        rules: Rules,
        send: Callable[..., Awaitable[Any]],
        spec: AnyRequest,
        params: Any,
        options: CallOptions,
    ) -> Any:
        if "cacheable" not in spec.traits:
            return await send(spec, params, options)
        result: Any = spec.results[0]
        wire: JSONObject = {} if params is None else params.to_wire()
        if _ANSWERS & wire.keys():
            return await send(spec, params, options)
        if rules.varying:
            meta = wire.get("_meta", {})
            wire["_meta"] = {key: meta.get(key) for key in rules.varying}
        public = _Key(spec.method, result, json_text(wire), wire.get("uri"), None)
        private = public._replace(owner=mark)
        for key in (public, private):
            if (entry := self._kept.get(key)) is not None and monotonic() < entry.until:
                return result.from_json(entry.result)
        changes = self._changes
        try:
            received = await send(spec, params, options)
        except McpError:
            # A refused cursor belongs to a list that no longer exists.
            if rules.cursor in wire:
                self.clear(spec.method)
            raise
        seconds = min(declared_member(received, "ttl_ms") or 0, _LONGEST) / 1000
        # A result sent before a change may be outdated.
        if seconds > 0 and changes == self._changes:
            key = public if received.cache_scope == "public" else private
            self._keep(key, _Entry(monotonic() + seconds, received.to_json()))
        return received

    def _keep(self, key: _Key, entry: _Entry) -> None:
        self._drop(key)
        self._kept[key] = entry
        self._size += _size(key, entry)
        while self._size > self._max_bytes:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: _Key) -> None:
        if (entry := self._kept.pop(key, None)) is not None:
            self._size -= _size(key, entry)

    def remove_stale(self, table: MessageCodec, notification: str, uri: str | None) -> None:
        """Drop the lists of the changed feature, or the results that contain a changed resource."""
        changed = features_of(table.notifications.get(notification))
        for method, spec in table.requests.items() if changed else ():
            is_list = "paginated" in spec.traits
            if is_list == (uri is None) and changed & features_of(spec):
                self.clear(method, uri)

    def clear(self, method: str | None = None, uri: str | None = None) -> None:
        """Drop all results, or those of a method, or those that contain a resource."""
        self._changes += 1
        for key in list(self._kept):
            if method in (None, key.method) and (uri is None or uri.startswith(key.uri or "")):
                self._drop(key)


def features_of(spec: CallSpec[Any] | None) -> set[str]:
    return {need.capability.path[0] for need in (spec.requires if spec else ())}


def _size(key: _Key, entry: _Entry) -> int:
    return len(key.params) + len(entry.result)
