"""Finding and listing items, including those of mounted servers."""

from asyncio import gather
from collections.abc import Collection
from inspect import isawaitable
from logging import getLogger
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from ..core.errors import InvalidParams
from ..core.json import JSONObject
from ..core.spec import SET_LEVEL
from ..rules.handlers import Handler
from ..server.base import SessionBase, package_of
from ..translation.revision_view import RevisionViews
from .catalogue import FIELDS, Catalogue
from .failures import closest
from .items import COMPLETE, Item, requested_item

if TYPE_CHECKING:
    from .mounts import MountedItem

_log: Final = getLogger(__name__)


def tags_of(catalogue: Catalogue, field: str, key: str) -> Collection[str]:
    item: Item | None = catalogue.registered[field].get(key)
    if item is not None:
        return item.tags
    for mount in catalogue.mounts:
        inner_key = mount.prefix.strip(field, key)
        if inner_key is not None and (found := mount.tags(field, inner_key)):
            return found
    return ()


async def _shows(catalogue: Catalogue, item: "Item | MountedItem", session: SessionBase) -> bool:
    on = None if catalogue.visibility is None else catalogue.visibility.of(item, session)
    if on is not None:
        return on
    if isinstance(item.enabled, bool):
        return item.enabled
    try:
        enabled = item.enabled(session)
        return bool(await enabled if isawaitable(enabled) else enabled)
    except Exception:
        _log.exception("the `enabled` function of %s failed, so the item is hidden", item.key)
        return False


async def entries_for(catalogue: Catalogue, field: str, session: SessionBase) -> list[Any]:
    items = catalogue.registered[field]
    entries = [
        own_item.listed_for(session)
        for own_item in items.values()
        if await _shows(catalogue, own_item, session)
    ]
    taken = set(items)
    for batch in await gather(*(mount.entries(field, session) for mount in catalogue.mounts)):
        for item, entry in batch:
            # A remote server may add a name that is taken.
            if item.key not in taken and await _shows(catalogue, item, session):
                taken.add(item.key)
                entries.append(entry)
    return entries


async def keys(catalogue: Catalogue, field: str, session: SessionBase) -> list[str]:
    items = list[Any](catalogue.registered[field].values())
    for mount in catalogue.mounts:
        items += await mount.list_known(field, session)
    return [item.key for item in items if await _shows(catalogue, item, session)]


async def find(
    catalogue: Catalogue, method: str, kind: str, key: str, session: SessionBase
) -> "Item | MountedItem | None":
    for item in catalogue.own_items(method, kind, key):
        if await _shows(catalogue, item, session):
            return item
    is_taken = any(key in catalogue.registered[field] for field in FIELDS[kind])
    # As in the list, an own name hides that of a remote server.
    for mount in () if is_taken else catalogue.mounts:
        match = await mount.find(method, kind, key, session)
        if match is not None and await _shows(catalogue, match, session):
            return match
    return None


async def item_of(
    catalogue: Catalogue, method: str, kind: str, key: str, session: SessionBase
) -> "Item | MountedItem | None":
    known = catalogue.lists[kind].get(key)
    return known or await find(catalogue, method, kind, key, session)


async def answer(catalogue: Catalogue, method: str, session: SessionBase, params: Any) -> Any:
    kind, key = requested_item(method, params)
    item = await item_of(catalogue, method, kind, key, session)
    if item is not None:
        if method == COMPLETE and item.scopes:
            # The item, which would check them, does not run.
            session.require_scopes(*item.scopes)
        return await item.answer(catalogue.owner, session, method, params)
    if method == COMPLETE:
        raise InvalidParams(f"Unknown reference: {key}")
    known = [name for field in FIELDS[kind] for name in await keys(catalogue, field, session)]
    # Unrelated URIs begin alike, so the match must be close.
    likeness = {"likeness": 0.8} if kind == "resources" else {}
    raise unknown_item(catalogue, kind, key, closest(key, known, **likeness))


def unknown_item(catalogue: Catalogue, kind: str, key: str, advice: str = "") -> Exception:
    if kind == "resources":
        return catalogue.models.not_found(key, advice)
    return InvalidParams(f"Unknown {kind.removesuffix('s')}: {key}{advice}")


async def subscribe(
    catalogue: Catalogue, method: str, own: Handler | None, session: SessionBase, params: Any
) -> Any:
    """Subscribe to a resource of its server, or unsubscribe; `own` is the user's handler."""
    uri = params.uri
    is_own = any(catalogue.own_items("resources/read", "resources", uri))
    for mount in catalogue.mounts if not is_own else ():
        inner = mount.prefix.strip("resources", uri)
        if inner is not None and mount.owns(inner):
            await mount.change_subscription(method, session, inner)
            break
    else:
        if own is not None:
            return await own(session, params)
    return _empty_result(method, session)


async def set_level(
    catalogue: Catalogue, own: Handler | None, session: SessionBase, params: Any
) -> Any:
    await gather(*(mount.set_level(session, params.level) for mount in catalogue.mounts))
    return _empty_result(SET_LEVEL, session) if own is None else await own(session, params)


def _empty_result(method: str, session: SessionBase) -> Any:
    # The client's revision may have the method when that of this class has not.
    spec = session.__mcp_runtime__.spoken.requests.get(method)
    return None if spec is None else spec.results[0]()


def tool_schemas(catalogue: Catalogue, revision: str | None) -> list[JSONObject]:
    owner, spec = catalogue.owner, catalogue.models.list("tools")
    tools = catalogue.lists["tools"].values()
    schemas = [tool.listed.to_wire() for tool in tools]
    visibility = catalogue.visibility
    for item, tool in (pair for mount in catalogue.mounts for pair in mount.tool_schemas()):
        if visibility is None or visibility.is_enabled_for_all(item):
            schemas.append({**tool, "name": item.key})
    schemas.sort(key=itemgetter("name"))
    native = owner.TABLE.revision
    if revision not in (None, native):
        package = package_of(type(owner))
        package.load(revision)  # raises an error that lists the revisions
        table = RevisionViews({native: owner}, package.REVISIONS)[revision].table
        page = spec.results[0]
        result = page(**{spec.items: schemas}).to_wire()
        listed = table.wire.spec_of(spec.known_as).items
        schemas = table.carry_out(spec.method, "result", result)[listed]
    return schemas
