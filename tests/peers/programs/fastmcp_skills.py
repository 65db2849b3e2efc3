"""Skills with fastmcp: `client URL` prints those of a server, `server FOLDER` serves some."""

import asyncio
import json
import sys
import warnings
from pathlib import Path

from fastmcp import Client, FastMCP
from fastmcp.server.providers.skills import SkillsDirectoryProvider
from fastmcp.skills import SkillsClientExtension
from fastmcp.skills.extension import SkillsExtension

warnings.simplefilter("ignore")


async def client(url: str) -> None:
    """Print the files of each skill, after it was got by its URI once more."""
    async with Client(url, extensions=[SkillsClientExtension()]) as client:
        skills = await client.list_skills()
        got = [await client.get_skill(skill.uri) for skill in skills]
        files = {skill.uri: [file.uri for file in skill.resources] for skill in got}
        print(json.dumps({"version": client.protocol_version, "files": files}))


def server(folder: str) -> None:
    """Serve the skills of a folder over stdio."""
    provider = SkillsDirectoryProvider(Path(folder), experimental_skills=True)
    mcp = FastMCP("skills")
    mcp.add_provider(provider)
    mcp.add_extension(SkillsExtension(providers=[provider]))
    mcp.run(show_banner=False)


if sys.argv[1] == "client":
    asyncio.run(client(sys.argv[2]))
else:
    server(sys.argv[2])
