"""A server with an item to see and others to hide in each list, and all attempts to reach these."""

from functools import partial
from typing import Any

import pytest
from support.gateway.listing import Listing, tool
from support.sessions.talking import pkg

NAMES = ("open", "closed", "open_secret")
URIS = ("db://open", "db://closed", "db://open_secret", "db://o/%73ecret", "DB://open/../closed")
TEMPLATES = ("db://open/{x}", "db://closed/{x}", "db://open_secret/{x}")


def server_with_secrets() -> Listing:
    """Return a server with an item to see and two to hide in each list."""
    server = Listing()
    server.lists = {
        "tools": [tool(name) for name in NAMES],
        "prompts": [{"name": name} for name in NAMES],
        "resources": [{"uri": uri, "name": uri} for uri in URIS],
        "resourceTemplates": [{"uriTemplate": uri, "name": uri} for uri in TEMPLATES],
    }
    return server


async def reach(revision: str, one: Any, is_bare: bool) -> None:
    """Try all methods with all names; all errors are those of unknown names."""
    m: Any = pkg.load(revision).models
    argument = m.CompleteRequestParamsArgument(name="x", value="")

    def complete(reference: Any) -> Any:
        return one.complete(reference, argument)

    start = "" if is_bare else "a_"
    for name in (*NAMES, *(f"a_{name}" for name in NAMES)):
        for kind, ask in (
            ("tool", partial(one.call_tool, name, {})),
            ("prompt", partial(one.get_prompt, name, {})),
            ("reference", partial(complete, m.PromptReference(name=name))),
        ):
            if name == f"{start}open":
                await ask()
            else:
                with pytest.raises(pkg.McpError, match=f"Unknown {kind}: {name}") as raised:
                    await ask()
                assert raised.value.code == -32602
    for uri in (*URIS, *TEMPLATES, "db://closed/1", "db://open_secret/1"):
        key = uri if is_bare else uri.replace("://", "://a/")
        for ask in (
            partial(one.read_resource, key),
            partial(complete, m.ResourceTemplateReference(uri=key)),
        ):
            if uri in ("db://open", "db://open/{x}"):
                await ask()
            else:
                with pytest.raises(pkg.McpError, match=r"not found|Unknown reference"):
                    await ask()
