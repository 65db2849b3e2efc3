"""The official SDK's client for a new server, from its command line or URL alone.

The first argument is `auto` or `legacy`, the way to find out the server's revision. Prints its
results as JSON.
"""

import asyncio
import json
import sys
import warnings

from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters

MODE, *SERVER = sys.argv[1:]

warnings.simplefilter("ignore")


async def main() -> None:
    server = SERVER[0]
    if not server.startswith("http://"):
        server = StdioServerParameters(command=SERVER[0], args=SERVER[1:])
    async with Client(server, mode=MODE, cache=None) as client:
        result = await client.call_tool("time_in", {"zone": "Asia/Tokyo"})
        wrong = await client.call_tool("time_in", {"zone": "Europe/Lisboa"})
        try:
            missing = repr(await client.read_resource("zones://Atlantis"))
        except MCPError as error:
            missing = error.code
        prompt = await client.get_prompt("meeting", {"places": "Lisbon", "length": "long"})
        seen = {
            "revision": client.protocol_version,
            "server": client.server_info.name,
            "version": client.server_info.version,
            "tools": [tool.name for tool in (await client.list_tools()).tools],
            "zone": result.structured_content["zone"],
            "offset": result.structured_content["time"][-6:],
            "wrong": [wrong.is_error, wrong.content[0].text],
            "templates": [
                template.uri_template
                for template in (await client.list_resource_templates()).resource_templates
            ],
            "zones": "Europe/Lisbon"
            in (await client.read_resource("zones://Europe")).contents[0].text.splitlines(),
            "missing": missing,
            "prompts": [prompt.name for prompt in (await client.list_prompts()).prompts],
            "prompt": prompt.messages[0].content.text,
        }
    print(json.dumps(seen))


asyncio.run(main())
