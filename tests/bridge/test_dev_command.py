"""`mcp-gen dev` as a process, between a client and real files: what its page shows."""

import asyncio
import sys
from pathlib import Path

from mcp_revisions import connect, stdio_client
from mcp_revisions import v2025_11_25 as mcp
from support.docs.pages import indented_block, programs

NEW = '''\
@app.tool
def drop_note(name: str) -> None:
    """Drop a note."""
    del notes[name]


'''


class Client(mcp.Client):
    """A client that notices changes of the list of tools."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()

    async def on_tool_list_changed(self, params: object) -> None:
        self.changed.set()


async def test_edit_reaches_the_client_and_its_author_sees_what_the_page_shows(
    tmp_path: Path,
) -> None:
    file, log, client = tmp_path / "server.py", tmp_path / "log", Client()
    source = programs("first-server.md")[0]
    file.write_text(source)
    command = [sys.executable, "-m", "mcp_protogen", "dev", str(file), "--no-inspect"]
    async with connect(stdio_client(command, stderr=log), client) as one:
        edited = source.replace("text: str)", 'text: str = "")')
        file.write_text(edited.replace("@app.resource", f"{NEW}@app.resource"))
        await client.changed.wait()
        assert (await one.call_tool("drop_note", {"name": "milk"})).is_error
    shown = indented_block("dev.md", "dev: watching").replace("/home/ada/notes", str(tmp_path))
    lines = log.read_text().splitlines()
    for line in shown.splitlines():
        if line != "…" and not line.startswith("dev: inspect"):
            del lines[: lines.index(line)]
