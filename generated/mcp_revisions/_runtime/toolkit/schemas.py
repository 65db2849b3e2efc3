"""What clients see of the tools of a server, without a client."""

from importlib import import_module
from operator import itemgetter
from typing import Any, Final

from ..core.json import JSONObject
from ..translation.revision_view import RevisionViews
from .mounts import LocalMount, Offered, package_of
from .revision_models import LISTS, revision_models

_LISTING: Final = LISTS["tools"]


def tools_as_seen(server: Any, revision: str | None) -> list[JSONObject]:
    """Return the tools of a server as JSON; see `Toolkit.tool_schemas`."""
    runtime, own = server.__mcp_runtime__, server.TABLE.revision
    entries = [tool.listed for tool in runtime.lists["tools"].values()]
    listed: JSONObject = revision_models(server.TABLE).result(_LISTING)(tools=entries).to_wire()
    found: list[JSONObject] = listed["tools"]
    for mount in runtime.mounts:
        if isinstance(mount, LocalMount):
            for tool in tools_as_seen(mount.server, own):
                name = mount.prefix.key("tools", tool["name"])
                item = Offered(mount, name, mount.tags("tools", tool["name"]))
                if runtime.visibility.fixed(item):
                    found.append({**tool, "name": name})
    found.sort(key=itemgetter("name"))
    if revision not in (None, own):
        package = import_module(package_of(server.__class__))
        package.load(revision)  # which says which there are
        views = RevisionViews({own: server}, package.REVISIONS)
        found = views[revision].table.carry_out(_LISTING, "result", listed)["tools"]
    return found
