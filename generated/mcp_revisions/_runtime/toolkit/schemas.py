"""What clients see of the tools of a server, without a client."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from ..core.json import JSONObject
from ..translation.revision_view import RevisionViews
from .revision_models import LISTS, revision_models

_LISTING: Final = LISTS["tools"]


def tools_as_seen(server: Any, tools: Mapping[str, Any], revision: str | None) -> list[JSONObject]:
    """Return the tools of a server as JSON; see `Toolkit.tool_schemas`."""
    entries = [tools[name].listed for name in sorted(tools)]
    result = revision_models(server.TABLE).result(_LISTING)
    listed: JSONObject = result(tools=entries).to_wire()
    own = server.TABLE.revision
    if revision not in (None, own):
        # The generated class is in the folder of its revision.
        generated = next(base for base in type(server).__mro__ if "TABLE" in base.__dict__)
        package = import_module(generated.__module__.rsplit(".", 2)[0])
        package.load(revision)  # which says which there are
        views = RevisionViews({own: server}, package.REVISIONS)
        listed = views[revision].table.carry_out(_LISTING, "result", listed)
    found: list[JSONObject] = listed["tools"]
    return found
