"""Headless Chromium for tests, controlled over a pipe.

A small part of the Chrome DevTools Protocol: messages are JSON, each ended by a NUL, on descriptors
3 and 4 (https://chromedevtools.github.io/devtools-protocol/). It needs no library.
"""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.patience import PATIENCE
from support.programs import find_program

Json = dict[str, Any]

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
# The ends of the pipes get the numbers that Chromium expects; they may hold each other's at first.
_LAUNCH = """
import fcntl, os, sys
reading, writing = (fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3])
os.dup2(reading, 3)
os.dup2(writing, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def executable() -> str | None:
    """Return the path of Chromium, if installed."""
    return find_program("chromium", "chromium-browser", "google-chrome")


class BrowserError(Exception):
    """The browser refused a command, or did not answer in time."""


@dataclass
class _Pipe:
    """A sender of commands that sorts incoming messages into answers and events."""

    reading: int
    writing: int
    rest: bytes = b""
    last: int = 0
    events: list[Json] = field(default_factory=list[Json])

    def send(self, method: str, params: Json, session: str | None) -> Json:
        self.last += 1
        message: Json = {"id": self.last, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.writing, data) :]
        for answer in self._messages():
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']}")
                result: Json = answer["result"]
                return result
            self.events.append(answer)
        raise AssertionError

    def wait(self, method: str) -> Json:
        """Return the next event of a kind, including earlier ones."""
        for event in self.events:
            if event.get("method") == method:
                self.events.remove(event)
                return event
        for event in self._messages():
            if event.get("method") == method:
                return event
            self.events.append(event)
        raise AssertionError

    def _messages(self) -> Iterator[Json]:
        end = time.monotonic() + PATIENCE
        while True:
            while b"\0" in self.rest:
                message, _, self.rest = self.rest.partition(b"\0")
                yield json.loads(message)
            ready, _, _ = select.select([self.reading], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise BrowserError(f"the browser was silent for {PATIENCE} seconds")
            data = os.read(self.reading, 1 << 16)
            if not data:
                raise BrowserError("the browser has gone")
            self.rest += data


@dataclass
class Page:
    """One tab; `complaints` and `requests` cover the time since an address was opened."""

    pipe: _Pipe
    session: str

    def __call__(self, method: str, **params: Any) -> Json:
        return self.pipe.send(method, params, self.session)

    def open(self, url: str) -> None:
        """Load an address and wait until it is complete."""
        self.pipe.events.clear()
        self("Page.navigate", url=url)
        self.pipe.wait("Page.loadEventFired")

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression; fail if it throws."""
        answer = self(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise BrowserError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def size(self, width: int) -> None:
        """Give the window a size in CSS pixels."""
        self(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )

    def scheme(self, name: str) -> None:
        """Prefer `light` or `dark`."""
        self(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}]
        )

    def scripting(self, *, on: bool) -> None:
        """Allow scripts or not; applies to pages opened afterwards."""
        self("Emulation.setScriptExecutionDisabled", value=not on)

    def click(self, selector: str) -> None:
        """Press and release the mouse in the middle of an element."""
        place = self.evaluate(
            f"(e => {{ e.scrollIntoView({{block: 'center', behavior: 'instant'}});"
            " const r = e.getBoundingClientRect();"
            f" return [r.x + r.width / 2, r.y + r.height / 2]; }})({_query(selector)})"
        )
        at = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self("Input.dispatchMouseEvent", type=kind, **at)

    def type(self, selector: str, text: str) -> None:
        """Click into a field and write."""
        self.click(selector)
        self("Input.insertText", text=text)

    def press(self, key: str, code: int, *, control: bool = False) -> None:
        """Press a key that writes nothing, such as Tab."""
        what = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": 2 * control}
        for kind in ("rawKeyDown", "keyUp"):
            self("Input.dispatchKeyEvent", type=kind, **what)

    def _events(self, method: str) -> list[Json]:
        self.evaluate("0")  # earlier events have arrived before its answer
        return [event["params"] for event in self.pipe.events if event.get("method") == method]

    @property
    def requests(self) -> list[str]:
        return [event["request"]["url"] for event in self._events("Network.requestWillBeSent")]

    @property
    def complaints(self) -> list[str]:
        """Return everything in the console: errors, warnings, output of scripts."""
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [json.dumps(event) for kind in kinds for event in self._events(kind)]


def _query(selector: str) -> str:
    return f"document.querySelector({json.dumps(selector)})"


@contextmanager
def browser(program: str, profile: Path) -> Generator[Page, None, None]:
    """Run a browser with one tab until the end of the block."""
    to_read, to_write = os.pipe(), os.pipe()
    command = [sys.executable, "-c", _LAUNCH, str(to_read[0]), str(to_write[1]), program, *_FLAGS]
    process = subprocess.Popen(
        [*command, f"--user-data-dir={profile}", "about:blank"],
        pass_fds=(to_read[0], to_write[1]),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read[0])
    os.close(to_write[1])
    pipe = _Pipe(to_write[0], to_read[1])
    try:
        yield _tab(pipe)
        pipe.send("Browser.close", {}, None)
        process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()
        os.close(to_write[0])
        os.close(to_read[1])


def _tab(pipe: _Pipe) -> Page:
    target = pipe.send("Target.createTarget", {"url": "about:blank"}, None)["targetId"]
    attached = pipe.send("Target.attachToTarget", {"targetId": target, "flatten": True}, None)
    page = Page(pipe, attached["sessionId"])
    for domain in ("Page", "Runtime", "Network", "Log"):
        page(f"{domain}.enable")
    return page
