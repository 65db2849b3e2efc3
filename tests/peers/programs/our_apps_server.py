"""A server with user interfaces, in all revisions, on standard input and output."""

from mcp_revisions import REVISIONS, Toolkit, resource, run_stdio, tool
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28.ext.apps import AppsServer, models

URI = "ui://weather/view"


class Weather(AppsServer, Toolkit, mcp.Server):
    REVISIONS = REVISIONS

    @tool(ui=URI)
    async def forecast(self, city: str) -> str:
        return f"rain in {city}"

    @tool(ui=models.McpUiToolMeta(resource_uri=URI, visibility=["app"]))
    async def refresh(self) -> str:
        return "refreshed"

    @resource(
        URI,
        ui=models.McpUiResourceMeta(
            csp=models.McpUiResourceCsp(connect_domains=["https://weather.example"]),
            permissions=models.McpUiResourcePermissions(geolocation={}),
            prefers_border=True,
        ),
    )
    async def view(self) -> str:
        return "<!doctype html>"


if __name__ == "__main__":
    run_stdio(Weather())
