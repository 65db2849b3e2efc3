"""Sessions that several applications serve, on one engine: whichever is asked, nothing is lost."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import (
    CallToolRequestParams,
    CreateMessageRequestParams,
    SamplingMessage,
    TextContent,
)
from support.http import serving as http
from support.http.serving import Site, serving
from support.json_types import JsonObject
from support.revisions import OLD
from support.sessions.talking import pkg, tools


@asynccontextmanager
async def workers(
    servers: list[Any], engine: Any = None, **chosen: Any
) -> AsyncGenerator[list[Site], None]:
    """An application for each server, all on one engine."""
    shared = pkg.Shared(engine=engine or pkg.MemoryEngine())
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(serving(server, shared=shared, **chosen))
            for server in servers
        ]


def at(session: http.Session, site: Site) -> http.Session:
    """The same session, at another worker."""
    return http.Session(site, session.revision, session.id, session.headers)


def answered(question: JsonObject, text: str) -> JsonObject:
    """The client's answer to a request for sampling."""
    message = {"role": "assistant", "content": {"type": "text", "text": text}, "model": "m"}
    return {"jsonrpc": "2.0", "id": question["id"], "result": message}


async def ask(session: Session, params: CallToolRequestParams) -> str:
    message = SamplingMessage(role="user", content=TextContent(text=params.name))
    asked = CreateMessageRequestParams(messages=[message], max_tokens=1)
    said = await session.create_message(asked)
    assert isinstance(said.content, TextContent)
    return f"{params.name}: {said.content.text}"


class TestAnswers:
    async def test_each_reaches_the_handler_that_asked_wherever_it_is_posted(self) -> None:
        async with workers([tools(OLD, ask), tools(OLD, ask)]) as (one, two):
            first = await one.initialize(sampling={})
            second = at(first, two)
            async with first.calling("a", 1) as of_one, second.calling("b", 2) as of_two:
                questions = [await of_one.take(), await of_two.take()]
                assert questions[0]["id"] != questions[1]["id"]
                # Each answer goes to the other worker.
                for session, question, text in (
                    (first, questions[1], "for b"),
                    (second, questions[0], "for a"),
                ):
                    assert (await session.post(answered(question, text))).status_code == 202
                answers = [await of_one.take(), await of_two.take()]
            said = [one["result"]["content"][0]["text"] for one in answers]
            assert said == ["a: for a", "b: for b"]
