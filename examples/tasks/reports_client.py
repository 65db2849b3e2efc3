"""Orders a report, and comes back for it later.

    python reports_client.py http://127.0.0.1:8000/mcp order "tea" > order.json
    python reports_client.py http://127.0.0.1:8000/mcp fetch < order.json

The first command ends as soon as the server has begun. The second may run at any later time, in
another process. It answers questions of the task, and waits for the report.
"""

import asyncio
import json
import sys
from argparse import ArgumentParser

from pkg import connect_http
from pkg import v2026_07_28 as mcp
from pkg.v2026_07_28 import models as m
from pkg.v2026_07_28.ext.tasks import TasksClient


class Reader(TasksClient, mcp.Client):
    """A client whose calls may become tasks. It orders two chapters."""

    async def on_elicit(self, params: m.ElicitRequestParams) -> m.ElicitResult:
        print(params.message, "2", file=sys.stderr)
        return m.ElicitResult(action="accept", content={"value": 2})


async def order(url: str, topic: str) -> None:
    """Call the tool, and print the handle of the task."""
    async with connect_http(url, Reader()) as client:
        handle = await client.start_task("write_report", {"topic": topic})
        print(json.dumps(handle.to_json()))


async def fetch(url: str) -> None:
    """Wait for an ordered report, and print it."""
    async with connect_http(url, Reader()) as client:
        print(await client.task(json.load(sys.stdin)).result(as_=str))


if __name__ == "__main__":
    parser = ArgumentParser(description="order a report")
    parser.add_argument("url", help="the URL of the server")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("order").add_argument("topic", help="the topic")
    commands.add_parser("fetch", help="wait for the report whose order is on standard input")
    arguments = parser.parse_args()
    if arguments.command == "order":
        asyncio.run(order(arguments.url, arguments.topic))
    else:
        asyncio.run(fetch(arguments.url))
