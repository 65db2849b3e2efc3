"""Resource links of mounted servers, in texts for clients whose revision has no links."""

from typing import Any

import pytest
from support.revisions import OLD, STATELESS
from support.sessions.talking import pkg
from support.tables import case
from support.toolkit.mounting import app, mount_remote, only, over_http, text_of


def linking(revision: str) -> Any:
    """Return an app whose tool returns a link to its own resource, and one to a web page."""
    made, m = only(app(revision, "linking")), pkg.load(revision).models
    links = [m.ResourceLink(uri=uri, name="a") for uri in ("data://a", "https://example.org/a")]

    async def link() -> Any:
        return m.CallToolResult(content=links)

    def read(name: str) -> str:
        return f"content of {name}"

    made.add_tool(link)
    made.add_resource(read, "data://{name}")
    return made


@pytest.mark.parametrize("own", [OLD, STATELESS])
async def test_text_of_a_link_has_the_uri_that_the_client_can_read(own: str) -> None:
    for revision in ("2024-11-05", "2025-03-26"):
        for above in (revision, OLD):
            with case((revision, above)):
                top, one = app(above), pkg.load(revision).Client()
                mount_remote(top, "far", linking(own))
                top.mount("near", linking(own))
                async with over_http(one, top) as connected:
                    for name in ("far", "near"):
                        text = await text_of(connected, f"{name}_link")
                        assert text == f"a <data://{name}/a>a <https://example.org/a>"
                        read = await connected.read_resource(f"data://{name}/a")
                        assert read.contents[0].text == "content of a"
