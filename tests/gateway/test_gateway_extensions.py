"""The extensions of clients, as servers behind a gateway see them."""

from mcp_protogen.runtime.testing import in_memory
from support.gateway.gateways import behind, gateway_settings, serve_gateway
from support.json_types import JsonObject
from support.revisions import STATELESS
from support.sessions.talking import CAPABILITIES, META
from support.sessions.wiretap import Wire
from support.toolkit.mounting import only, weather

TASKS = "io.modelcontextprotocol/tasks"


async def test_server_learns_of_extensions_but_not_of_tasks_which_are_not_carried() -> None:
    wire = Wire()
    opener = in_memory(only(weather(STATELESS)), tap=wire)
    given: JsonObject = {**META, CAPABILITIES: {"extensions": {TASKS: {}, "com.example/other": {}}}}
    async with serve_gateway(gateway_settings(behind("up", opener))) as site:
        called = await site.modern(
            "tools/call", meta=given, name="up_forecast", arguments={"place": "Rome"}
        )
    assert called.json()["result"]["content"][0]["text"] == "rain in Rome"
    (call,) = wire.calls("tools/call")
    assert call["_meta"][CAPABILITIES]["extensions"] == {"com.example/other": {}}
