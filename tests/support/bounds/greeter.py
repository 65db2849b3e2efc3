"""A server with one tool and its client, in memory: their imports, and the walk of one call.

`python -m support.bounds.greeter REVISION` prints figures about the package `pkg` as a JSON object.
The package must be importable and contain a copy of the runtime.
"""

import asyncio
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from benchmarks.tracing import Trace

_RUNTIME: Final = "pkg._runtime"


def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}!"


async def measure(revision: str) -> dict[str, int]:
    """Return the imports of a first call from the runtime, and the functions a later one enters."""
    package: Any = import_module("pkg")
    stubs = package.load(revision)
    app = stubs.App("greeter")
    app.tool(greet)
    trace = Trace((_RUNTIME,))
    sys.setprofile(trace)
    async with package.connect_in_memory(app, stubs.Client()) as client:
        await client.call_tool("greet", {"name": "Ada"})
        files = [module.__file__ for name, module in sys.modules.items() if _of_runtime(name)]
        texts = [Path(file).read_text(encoding="utf-8") for file in files if file is not None]
        # The second call still fills caches.
        await client.call_tool("greet", {"name": "Ada"})
        with trace.recording():
            await client.call_tool("greet", {"name": "Ada"})
    lines = sum(len(text.splitlines()) for text in texts)
    return {"greeter-modules": len(texts), "greeter-lines": lines} | {
        f"walk-{name}": figure for name, figure in trace.figures().items()
    }


def _of_runtime(module: str) -> bool:
    return module == _RUNTIME or module.startswith(f"{_RUNTIME}.")


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(sys.argv[1]))))
