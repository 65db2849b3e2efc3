"""Two connected cores and a bad line between them: whatever happens, they keep their promises."""

import json
from collections.abc import Mapping, Sized
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from mcp_protogen.runtime.connection import (
    Cancellation,
    Connection,
    Failure,
    Ignored,
    Progressed,
    Refusal,
)
from mcp_protogen.runtime.core.errors import McpError
from mcp_protogen.runtime.core.options import Patience
from mcp_protogen.runtime.core.spec import Role
from mcp_protogen.runtime.messages.codec import Error, Notification, Request, Result
from support.json_types import JsonObject
from support.runtime.receiving import take_events
from support.sessions.talking import models, pkg
from support.tables import count

REVISION = "2025-03-26"
methods = pkg.load(REVISION).methods
m = models(REVISION)

SIDES = st.sampled_from(["client", "server"])
OTHER: dict[Role, Role] = {"client": "server", "server": "client"}
DECLARED: dict[Role, JsonObject] = {
    "client": {"roots": {}},
    "server": {"tools": {"listChanged": True}, "resources": {}},
}
CALLS = {
    "client": [
        (methods.CALL_TOOL, m.CallToolRequestParams(name="x")),
        (methods.READ_RESOURCE, m.ReadResourceRequestParams(uri="u")),
        (methods.PING, None),
    ],
    "server": [(methods.LIST_ROOTS, None), (methods.PING, None)],
}
RESULTS = {
    "tools/call": m.CallToolResult(content=[]),
    "resources/read": m.ReadResourceResult(contents=[]),
    "roots/list": m.ListRootsResult(roots=[]),
    "ping": m.EmptyResult(),
}
KNOWN = (
    *(Request, Notification, Result, Error),
    *(Refusal, Failure, Ignored, Cancellation, Progressed),
)
GARBAGE = st.one_of(
    st.binary(max_size=20),
    st.recursive(
        st.none() | st.booleans() | st.integers(-2, 9) | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "requestId"]),
            inner | st.sampled_from(["2.0", "ping", "tools/call", "notifications/cancelled"]),
            max_size=5,
        ),
        max_leaves=8,
    ).map(lambda value: json.dumps(value).encode()),
)


def as_list(came: Any) -> list[Any]:
    """What came, one event or several, as several."""
    return [*came] if type(came) is list else [came]


class TwoCores(RuleBasedStateMachine):
    """A client and a server of the batching revision, and the messages between them."""

    def __init__(self) -> None:
        super().__init__()
        self.cores: dict[Role, Connection] = {
            side: Connection(methods.TABLE, side, DECLARED) for side in OTHER
        }
        # Messages under way to a side, and its open requests.
        self.coming: dict[Role, list[bytes]] = {side: [] for side in OTHER}
        self.open: dict[Role, dict[Any, Any]] = {side: {} for side in OTHER}
        self.seen: dict[Role, set[Any]] = {side: set() for side in OTHER}
        # The side's pending requests, and how often they were answered.
        self.asked: dict[Role, set[Any]] = {side: set() for side in OTHER}
        self.answered: dict[tuple[str, Any], int] = {}
        self.now = 0.0
        self.clean = True

    @rule(side=SIDES, choice=st.integers(0, 2), seconds=st.integers(1, 9))
    def ask(self, side: Role, choice: int, seconds: int) -> None:
        spec, params = CALLS[side][choice % len(CALLS[side])]
        patience = Patience(seconds, 20, renewed_by_progress=True)
        id, data = self.cores[side].request(spec, params, patience, self.now, progress=True)
        assert id not in self.asked[side]
        self.asked[side].add(id)
        self.coming[OTHER[side]].append(data)

    @rule(which=st.integers(0, 1), many=st.integers(1, 4))
    @precondition(lambda self: any(self.coming.values()))
    def deliver(self, which: int, many: int) -> None:
        side = self.side_with(self.coming, which)
        for _ in range(min(many, len(self.coming[side]))):
            self.take(side, self.coming[side].pop(0))

    @staticmethod
    def side_with(things: Mapping[Role, Sized], which: int) -> Role:
        """A side that has some of the things."""
        sides: list[Role] = [side for side, some in things.items() if some]
        return sides[which % len(sides)]

    @rule(side=SIDES, data=GARBAGE)
    def disturb(self, side: Role, data: bytes) -> None:
        self.clean = False
        self.take(side, data)

    @rule(which=st.integers(0, 1))
    @precondition(lambda self: any(self.coming.values()))
    def lose(self, which: int) -> None:
        self.clean = False
        self.coming[self.side_with(self.coming, which)].pop(0)

    @rule(which=st.integers(0, 1))
    @precondition(lambda self: any(self.coming.values()))
    def repeat(self, which: int) -> None:
        self.clean = False
        coming = self.coming[self.side_with(self.coming, which)]
        coming.append(coming[0])

    @rule(well=st.booleans(), which=st.integers(0, 5))
    @precondition(lambda self: any(self.open.values()))
    def answer(self, well: bool, which: int) -> None:
        side = self.side_with(self.open, which)
        id = list(self.open[side])[which % len(self.open[side])]
        request = self.open[side].pop(id)
        core = self.cores[side]
        if well:
            data = core.answer(request, RESULTS[request.spec.method])
        else:
            data = core.refuse(request, McpError(1, "no"))
        assert not core.is_open(id)
        self.send_answer(side, id, data)

    @rule(which=st.integers(0, 5))
    @precondition(lambda self: any(self.asked.values()))
    def cancel(self, which: int) -> None:
        side = self.side_with(self.asked, which)
        id = sorted(self.asked[side])[which % len(self.asked[side])]
        self.asked[side].discard(id)
        data = self.cores[side].cancel(id, "enough")
        assert data is not None
        assert self.cores[side].cancel(id, "again") is None
        self.coming[OTHER[side]].append(data)

    @rule(which=st.integers(0, 5), done=st.integers(0, 9))
    @precondition(lambda self: any(self.open.values()))
    def report(self, which: int, done: int) -> None:
        side = self.side_with(self.open, which)
        id = list(self.open[side])[which % len(self.open[side])]
        params = m.ProgressNotificationParams(progress_token=id, progress=done)
        self.coming[OTHER[side]].append(self.cores[side].notify(methods.PROGRESS, params))

    @rule(seconds=st.integers(0, 5))
    def wait(self, seconds: int) -> None:
        self.now += seconds
        for side, core in self.cores.items():
            for id, pending in core.overdue(self.now):
                assert 0 < pending.seconds <= 20
                data = core.cancel(id, "too late")
                assert data is not None
                self.asked[side].discard(id)
                self.coming[OTHER[side]].append(data)
            assert core.deadline() > self.now

    def take(self, side: Role, data: bytes) -> None:
        """Let a side have a message, and do what every side has to do."""
        heard = as_list(take_events(self.cores[side], data, self.now))
        for event in heard:
            assert isinstance(event, KNOWN)
            if isinstance(event, Request):
                assert event.id not in self.open[side]
                # An id that was answered may be used again once the answer is out.
                self.answered.pop((side, event.id), None)
                self.open[side][event.id] = event
                self.seen[side].add(event.id)
            elif isinstance(event, Cancellation):
                del self.open[side][event.id]
            elif isinstance(event, (Result, Error, Failure)):
                assert event.id in self.asked[side]
                self.asked[side].discard(event.id)
            elif isinstance(event, Refusal) and event.id is not None:
                self.send_answer(side, event.id, self.cores[side].reject(event.id, event.error))

    def send_answer(self, side: Role, id: object, data: bytes | None) -> None:
        if data is not None:
            if self.clean:
                assert (side, id) not in self.answered
            self.answered[side, id] = 1
            self.coming[OTHER[side]].append(data)

    @invariant()
    def cores_agree_with_history(self) -> None:
        for side, core in self.cores.items():
            assert core.awaits == bool(self.asked[side])
            assert all(core.is_open(id) == (id in self.open[side]) for id in self.seen[side])

    def teardown(self) -> None:
        for _ in range(10):
            for side, coming in self.coming.items():
                while coming:
                    self.take(side, coming.pop(0))
        if self.clean:
            # Nothing was lost: who waits, waits for what the other one has to answer.
            for side in OTHER:
                assert self.asked[side] == set(self.open[OTHER[side]])


TestTwoCores = TwoCores.TestCase
TestTwoCores.settings = settings(max_examples=count(30, 80), stateful_step_count=50)
