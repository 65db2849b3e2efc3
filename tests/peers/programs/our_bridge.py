"""A bridge between its own standard streams and the server whose command line it is given."""

import asyncio
import sys

import mcp_revisions
from our_server import report_loss


async def main() -> None:
    server = mcp_revisions.stdio_client(sys.argv[1:], inherit=True)
    options = mcp_revisions.Options(on_loss=report_loss)
    await mcp_revisions.Bridge(await mcp_revisions.open_stdio(), server, options=options).run()


asyncio.run(main())
