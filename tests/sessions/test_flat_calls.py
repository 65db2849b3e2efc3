"""Each call with single members of its params equals one with whole params.

It is made in both spellings, from both ends, over every transport, in every revision, and to a
server of another one: the other end sees the same, and the caller gets the same.
"""

import inspect
import json
import os
import sys
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from support import tables
from support.folders import GENERATED, TESTS
from support.http.serving import run_app
from support.json_types import JsonObject
from support.revisions import REVISIONS
from support.sessions.echoing import (
    OF_THE_RUNTIME,
    Call,
    classes_of,
    echoing_client,
    echoing_server,
    members_of,
    method_of,
    outcome,
    signature_of,
    split,
)
from support.sessions.talking import pkg
from support.vectors.vector_sets import vectors

DECLINED = {"action": "decline"}  # An answer that fits every form.
TRANSLATED = [(own, spoken) for own in REVISIONS for spoken in REVISIONS if own != spoken]


@cache
def values(revision: str) -> dict[str, list[JsonObject]]:
    """Return valid values for each type, and for the params of each method."""
    found = defaultdict[str, list[Any]](list)
    for vector in vectors(revision).vectors:
        subject = vector.subject
        if vector.valid and subject.type:
            found[subject.type].append(vector.value)
        elif vector.valid and subject.kind != "result":
            found[subject.method].append(vector.value.get("params", {}))
    return found


@cache
def results(revision: str) -> dict[str, JsonObject]:
    """The shortest valid result for each method."""
    table = pkg.load(revision).methods.TABLE
    answered = {**table.requests, **table.input_requests}.items()
    shortest = {
        method: min(values(revision)[spec.results[0].__name__], key=lambda one: len(str(one)))
        for method, spec in answered
        if values(revision)[spec.results[0].__name__]
    }
    return shortest | {"elicitation/create": DECLINED}


@cache
def calls(revision: str, base: str) -> list[Call]:
    """For each stub the call with the most members."""
    module = pkg.load(revision)
    stubs = getattr(module, base)
    table = module.methods.TABLE
    specs = {**table.requests, **table.input_requests, **table.notifications}
    found: list[Call] = []
    for name, function in inspect.getmembers_static(stubs, inspect.isfunction):
        signature, method = signature_of(function), method_of(function)
        if signature is None or method in OF_THE_RUNTIME:
            continue
        fitting = [
            Call(name, cls.__name__, value)
            for cls in classes_of(specs[method])
            for value in [*values(revision)[cls.__name__], *values(revision)[method], {}]
            if fits(cls, value, signature)
        ]
        # A state of requests is for the server that has sealed it.
        found.append(max(fitting, key=_worth))
    return found


def _worth(call: Call) -> tuple[bool, int]:
    return "requestState" not in call.params, len(call.params)


def fits(cls: Any, value: JsonObject, signature: inspect.Signature) -> bool:
    """Return whether a signature takes the members of these params."""
    try:
        whole = cls.from_wire(value)
    except ValidationError:
        return False  # It belongs to another alternative of a union.
    return not whole.model_extra and split(signature, members_of(whole)) is not None


@asynccontextmanager
async def talking(transport: str, own: str, client: Any, folder: Path) -> AsyncGenerator[Any, None]:
    """A client that is connected to a server of the revision `own`, which speaks all."""
    server = echoing_server(own, results(own))
    if transport == "memory":
        async with pkg.client_of(server, client, revisions=pkg.REVISIONS) as near:
            yield near
    elif transport == "stdio":
        file = folder / f"{own}.json"
        file.write_text(json.dumps(results(own)))
        path = os.pathsep.join(map(str, (GENERATED, TESTS)))
        command = [sys.executable, "-m", "support.sessions.echoing", own, str(file)]
        opener = pkg.stdio_client(command, env={"PYTHONPATH": path})
        async with pkg.connect(opener, client) as beside:
            yield beside
    else:
        app = pkg.http_app(server, revisions=pkg.REVISIONS)
        async with run_app(app) as port:
            try:
                async with pkg.connect_http(f"http://127.0.0.1:{port}/mcp", client) as far:
                    yield far
            finally:
                await app.close()


async def both_ways(transport: str, own: str, spoken: str, folder: Path) -> list[JsonObject]:
    """Make all calls in both spellings; return what came of each."""
    heard: list[Any] = []
    found: list[JsonObject] = []
    client = echoing_client(spoken, results(spoken), heard)
    async with talking(transport, own, client, folder) as connected:

        async def ask(name: str, **arguments: Any) -> Any:
            called = await connected.call_tool(name, arguments)
            return json.loads(called.content[0].text)

        async def send_call(call: Call, flat: bool) -> JsonObject:
            came = await outcome(connected, call, flat=flat)
            return {**came, "heard": await ask("heard")}

        async def record_call(call: Call, flat: bool) -> JsonObject:
            heard.clear()
            return {**await ask("calls", call=call, flat=flat), "heard": [*heard]}

        await ask("heard")  # what belongs to the handshake
        for make, table in (
            (send_call, calls(spoken, "Client")),
            (record_call, calls(own, "Session")),
        ):
            for call in table:
                with tables.case((own, spoken, call)):
                    one, other = await make(call, True), await make(call, False)
                    assert one == other
                    found.append({"name": call.name, **one})
    return found


# The runtime keeps these to itself.
KEPT = ("notify_cancelled", "notify_progress")
# Messages without an equivalent in the other revision.
REFUSED = ("MissingCapability: ", "Untranslatable: ")


@pytest.mark.parametrize("transport", ["memory", "http", "stdio"])
async def test_a_flat_call_is_the_same_as_one_with_params(transport: str, tmp_path: Path) -> None:
    for revision in REVISIONS:
        for call in await both_ways(transport, revision, revision, tmp_path):
            with tables.case((revision, call)):
                if call["name"].startswith("notify_"):
                    assert call["result"] is None
                    assert call["heard"] or call["name"] in KEPT
                elif not call["name"].startswith("iter_"):
                    assert "echo" in call["result"]["_meta"]
    for own, spoken in tables.some(TRANSLATED, 2, f"flat calls over {transport}"):
        for call in await both_ways(transport, own, spoken, tmp_path):
            with tables.case((own, spoken, call)):
                assert "result" in call or call["error"].startswith(REFUSED)
