"""The visit of every foreign client to our server with a bit of everything, and its results."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from support.json_types import JsonObject
from support.peers import visits
from support.peers.spoken import CODES, WITHOUT
from support.peers.visits import Expected, Step
from support.revisions import STATELESS

CHANGES: Final = ("notifications/resources/updated", "notifications/tools/list_changed")
NAMES: Final = [
    *("ask", "change", "count", "crash", "echo", "log"),
    *("media", "roots", "sample", "sleep", "stray"),
]
ADA: Final = {"action": "accept", "content": {"name": "ada"}}


class Row(NamedTuple):
    """A step, its expected result, and where it applies."""

    step: Step
    expected: Expected
    since: str = ""
    before: str = "later"
    over_http: bool = False


def _counted_text(*words: str | None) -> JsonObject:
    steps = [[number, 3, word] for number, word in enumerate(words, 1)]
    return {"text": "counted", "progress": steps}


_COUNT: Final[Step] = ("call", "count", {"to": 3}, (), True)

ROWS: Final = (
    Row(("tools",), NAMES),
    Row(("resources",), ["file:///a"]),
    Row(("read", "file:///a"), "content of a"),
    Row(("prompts",), ["greet"]),
    Row(("prompt", "greet", {"name": "ada"}), "Greet ada"),
    Row(("complete", "prompt", "greet", "name", "a"), ["ada", "alan"]),
    Row(("ping",), ..., before=STATELESS),
    Row(("level", "info"), ..., before=STATELESS),
    Row(("call", "echo", {"text": "hi"}), "hi"),
    # Progress has no message yet.
    Row(_COUNT, _counted_text(None, None, None), before="2025-03-26"),
    Row(_COUNT, _counted_text("at 1", "at 2", "at 3"), since="2025-03-26"),
    Row(("call", "log", {}), "logged"),
    Row(("call", "sample", {}), "model sampled"),
    Row(("call", "roots", {}), "file:///root"),
    Row(("call", "stray", {}), "printed"),
    Row(
        ("call", "ask", {}, [ADA]),
        {"text": "accept ada", "asked": ["Your name?"]},
        since="2025-06-18",
    ),
    Row(("call", "poll", {}), "polled", over_http=True),
    Row(("call", "media", {}), str, before="2025-06-18"),
    Row(("call", "media", {}), {"structuredContent": {"answer": 42}}, since="2025-06-18"),
    # An error has the code of the client's revision.
    Row(("read", "file:///none"), -32002, before=STATELESS),
    Row(("read", "file:///none"), -32602, since=STATELESS),
    Row(("call", "crash", {}), -32603),
    Row(("watch", "file:///a", 2, "change", {}), {"heard": list(CHANGES)}),
    Row(("cancel", "sleep"), "cancelled"),
    Row(("call", "told", {}), "told", over_http=True),
    Row(("call", "echo", {"text": "hi"}), "hi"),
)


def rows(client: str, revision: str, *, over_http: bool) -> list[tuple[Step, Expected]]:
    """Return the steps of a client in a revision, and their expected results."""
    return [
        (row.step, CODES.get((client, str(row.expected)), row.expected))
        for row in ROWS
        if row.since <= revision < row.before
        and (over_http or not row.over_http)
        and row.step[0] not in WITHOUT.get((client, revision), ())
    ]


def check(
    client: str, seen: JsonObject, done: Sequence[tuple[Step, Expected]], revision: str
) -> None:
    """Require that a client saw exactly the content of a revision."""
    visits.check(
        client,
        seen,
        done,
        revision=revision,
        server="everything",
        instructions="Call whatever you like.",
        logs=[{"said": "logged"}],
        errors=[],
    )
    assert "hunter2" not in str(seen)
