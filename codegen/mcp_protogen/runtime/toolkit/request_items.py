"""The items that a request refers to in its raw params: for scopes and tasks."""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from ..core.json import is_array, is_object
from ..core.json_pointers import value_at
from ..core.spec import CALL_TOOL
from ..core.subscriptions import LISTEN, SUBSCRIBE
from ..server.base import SessionBase
from .catalogue import Catalogue
from .items import COMPLETE, Item
from .lookup import item_of

if TYPE_CHECKING:
    from .mounts import MountedItem

_RAW_KINDS: Final[Mapping[str, Mapping[str, str]]] = {
    CALL_TOOL: {"name": "tools"},
    "prompts/get": {"name": "prompts"},
    "resources/read": {"uri": "resources"},
    SUBSCRIBE: {"uri": "resources"},
    COMPLETE: {"uri": "resources", "name": "prompts"},
}
"""The kind of item that a member names, by method."""


async def find_items(
    catalogue: Catalogue, method: str, params: Mapping[str, Any], session: SessionBase
) -> AsyncIterator["Item | MountedItem"]:
    for kind, key in _item_names(method, params):
        item = await item_of(catalogue, method, kind, key, session)
        if item is not None:
            yield item


def _item_names(method: str, params: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    about = params.get("ref") if method == COMPLETE else params
    if method == LISTEN:
        uris = value_at(params, ("notifications", "resourceSubscriptions"))
        listed: list[Any] = uris if is_array(uris) else []
        yield from (("resources", uri) for uri in listed if isinstance(uri, str))
    elif is_object(about):
        for member, kind in _RAW_KINDS.get(method, {}).items():
            if isinstance(key := about.get(member), str):
                yield kind, key
