"""Rules for what a client caches: the tags of results, what outdates them, and whole lists."""

from collections.abc import Awaitable, Callable, Mapping
from time import monotonic
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

from ..core.errors import McpError
from ..core.json import JSONObject, is_array, json_text
from ..core.middleware import meta_of
from ..core.models.base import declared_member, member_at
from ..core.options import CallOptions
from ..core.spec import AnyRequest, Rules
from ..messages.codec import MessageCodec
from ..messages.envelope import members
from .cache import Cache, features_of

ResultT = TypeVar("ResultT")

# The most lists whose terms are remembered.
_MOST_LISTS: Final = 1000


class CacheRules(NamedTuple):
    """The rules of a revision.

    Results have their `tag` in this member. `known` and `stale` are keys of `_meta`: requests have
    the tags of cached results by method, results the methods whose tags are stale. `outdated` has,
    by the code of an error, the methods whose results it outdates, or the member of its data that
    lists them. Pages of `whole_lists` share the least lifetime, and are private if one of them is.
    """

    tag: str = ""
    known: str = ""
    stale: str = ""
    outdated: Mapping[int, tuple[str, ...] | str] = MappingProxyType({})
    whole_lists: bool = False


class _Terms(NamedTuple):
    """The lifetime in seconds, and whether a result is for one connection alone."""

    seconds: float
    private: bool

    def both(self, other: "_Terms | None") -> "_Terms":
        if other is None:
            return self
        return _Terms(min(self.seconds, other.seconds), self.private or other.private)


class _Walk(NamedTuple):
    """The pages of a list since its first one: their terms, and those under which they are kept."""

    began: float
    seen: _Terms
    kept: _Terms


_OUTDATED: Final = _Terms(0, private=True)


class RuledCache:
    """One client's rules in front of a cache, which it may share with others."""

    def __init__(self, shared: Cache, rules: CacheRules) -> None:
        self.shared = shared
        self._rules = rules
        self._mark: object = None
        self._tags: dict[str, str] = {}
        self._walks: dict[tuple[str, bytes], _Walk] = {}

    async def request(
        self,
        mark: object,
        rules: Rules,
        send: Callable[..., Awaitable[Any]],
        spec: AnyRequest,
        params: Any,
        options: CallOptions,
    ) -> Any:
        if mark is not self._mark:
            # Another connection may be to another server.
            self._mark, self._tags, self._walks = mark, {}, {}

        async def send_ruled(spec: AnyRequest, params: Any, options: CallOptions) -> Any:
            # Only servers with tags get them, so translation need not see them.
            known = [members({self._rules.known: self._tags})] if self._tags else []
            try:
                result = await send(spec, params, options, *known)
            except McpError as error:
                of = self._rules.outdated.get(error.code, ())
                self._drop(member_at(error.data, (of,)) if isinstance(of, str) else [*of])
                raise
            self._drop(meta_of(result).get(self._rules.stale))
            if self._rules.whole_lists and {"cacheable", "paginated"} <= spec.traits:
                return self._as_part(spec, params, result, rules)
            return result

        result = await self.shared.request(mark, rules, send_ruled, spec, params, options)
        if self._rules.tag and "cacheable" in spec.traits:
            # The result may be one that another client has fetched.
            self._tags.pop(spec.method, None)
            tag = member_at(result, (self._rules.tag,))
            if isinstance(tag, str):
                self._tags[spec.method] = tag
        return result

    def remove_stale(self, table: MessageCodec, notification: str, uri: str | None) -> None:
        changed = features_of(table.notifications.get(notification))
        for method in [*self._tags] if changed else ():
            if changed & features_of(table.requests[method]):
                del self._tags[method]
        self.shared.remove_stale(table, notification, uri)

    def _drop(self, methods: object) -> None:
        for method in methods if is_array(methods) else ():
            if isinstance(method, str):
                self._tags.pop(method, None)
                self.shared.clear(method)

    def _as_part(self, spec: AnyRequest, params: Any, page: ResultT, rules: Rules) -> ResultT:
        """Return a page under the terms of all pages of its list so far."""
        wire: JSONObject = {} if params is None else params.to_wire()
        key = (spec.method, json_text({**wire, rules.cursor: None, "_meta": None}))
        result: Any = page
        seconds = (declared_member(page, "ttl_ms") or 0) / 1000
        terms, now = _Terms(seconds, result.cache_scope != "public"), monotonic()
        walk = self._walks.pop(key, None)
        if wire.get(rules.cursor) is None:
            # A server rarely changes its terms: those of the last walk spare keeping in vain.
            kept = terms.both(None if walk is None else walk.seen)
            walk = _Walk(now, terms, kept)
        elif walk is not None:
            walk = walk._replace(seen=terms.both(walk.seen))
            if terms.both(walk.kept) != walk.kept:
                self.shared.clear(spec.method)
                walk = walk._replace(kept=_OUTDATED)
        kept, began = (_OUTDATED, now) if walk is None else (walk.kept, walk.began)
        if walk is not None:
            self._walks[key] = walk
        while len(self._walks) > _MOST_LISTS:
            del self._walks[next(iter(self._walks))]
        left = max(0.0, began + kept.seconds - now)
        scope = "private" if kept.private else "public"
        part: ResultT = result.model_copy(update={"ttl_ms": int(left * 1000), "cache_scope": scope})
        return part


class KeepsByRules:
    """A mixin of generated clients whose cache follows rules."""

    __mcp_cache_rules__: ClassVar[CacheRules]
    __mcp_runtime__: Any

    @property
    def cache(self) -> Cache | None:
        """A cache for results that the server allows to be kept; None disables caching."""
        ruled: RuledCache | None = self.__mcp_runtime__.cache
        return None if ruled is None else ruled.shared

    @cache.setter
    def cache(self, cache: Cache | None) -> None:
        ruled = None if cache is None else RuledCache(cache, self.__mcp_cache_rules__)
        self.__mcp_runtime__.cache = ruled
