"""Writes reports, which take a while: a call becomes a task if the client supports tasks.

    mcp-gen --revision all --with all --extension tasks --out examples/tasks/pkg
    python examples/tasks/reports_server.py                # over standard input and output
    python examples/tasks/reports_server.py --http 8000    # at http://127.0.0.1:8000/mcp

Clients of 2026-07-28 with the extension for tasks, and clients of 2025-11-25 that request a task,
may leave and come back for the report. For other clients the call takes as long as the report.
Tasks are stored in a folder: after a restart, the server writes unfinished reports again.
"""

import asyncio
from argparse import ArgumentParser

from pkg import Accepted, FileTaskStore, Options, TaskOptions
from pkg import v2026_07_28 as mcp
from pkg.v2026_07_28.ext.tasks import TasksServer


class Reports(TasksServer, mcp.App):
    """An app with tasks of both kinds."""


app = Reports("reports", version="1.0.0")


@app.tool(task=True, idempotent=True)
async def write_report(topic: str, session: mcp.Session, seconds: float = 2.0) -> str:
    """Write a report."""
    answer = await session.ask(f"How many chapters shall '{topic}' have?", int)
    chapters = answer.value if isinstance(answer, Accepted) else 3
    for chapter in range(chapters):
        await session.progress(chapter, chapters)
        await asyncio.sleep(seconds / chapters)
    return f"All about {topic}, in {chapters} chapters."


if __name__ == "__main__":
    parser = ArgumentParser(description="write reports")
    parser.add_argument("--http", type=int, metavar="PORT", help="serve HTTP on this port")
    parser.add_argument("--tasks", default="tasks", metavar="FOLDER", help="store tasks here")
    arguments = parser.parse_args()
    options = Options(tasks=TaskOptions(store=FileTaskStore(arguments.tasks), poll_interval=0.5))
    if arguments.http:
        app.run("http", port=arguments.http, options=options)
    else:
        app.run(options=options)
