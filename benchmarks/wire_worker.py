"""Times reading and writing of messages; runs on the interpreter of the SDKs.

`python -m benchmarks.wire_worker ROUNDS` prints the median seconds of each call as a JSON object.
"""

import gc
import json
import sys
from collections.abc import Mapping
from functools import partial

from . import messages, wire_ours, wire_sdk, wire_structs
from .timing import Action, interleave_calls

# The name, the data, its reader and its writer.
_MESSAGES = (
    ("call", messages.CALL, "call"),
    ("call+progress", messages.CALL_WITH_PROGRESS, "call"),
    ("result", messages.RESULT, "result"),
    ("tools", messages.TOOLS, "tools"),
)


def calls() -> dict[str, Action]:
    """Return every call to time, by direction, message and library."""
    found: dict[str, Action] = {}
    exact = wire_ours.exact_readers()
    for name, data, kind in _MESSAGES:
        for side, module in (("ours", wire_ours), ("sdk", wire_sdk)):
            read, write = getattr(module, f"read_{kind}"), getattr(module, f"write_{kind}")
            found[f"read {name} {side}"] = partial(read, data)
            found[f"write {name} {side}"] = write(data)
        found[f"read {name} exact"] = partial(exact[kind], data)
        found[f"read {name} structs"] = partial(getattr(wire_structs, f"read_{kind}"), data)
    found["read result method"] = partial(wire_structs.read_answer, messages.RESULT)
    found |= {f"{what} pydantic": action for what, action in wire_ours.pydantic_alone().items()}
    return found


def check(found: Mapping[str, Action]) -> None:
    """Raise `SystemExit` unless both sides write back the same data."""
    answer = wire_structs.writer(found["read result method"])
    if json.loads(answer) != json.loads(messages.RESULT)["result"]:
        raise SystemExit("structs: the answer to a known method does not come back as it was")
    for name, data, _ in _MESSAGES:
        found[f"read {name} exact"]()  # the first time builds the class
        message = json.loads(data)
        structs = wire_structs.writer(found[f"read {name} structs"])
        if json.loads(structs) != message.get("result", message):
            raise SystemExit(f"structs: the message {name} does not come back as it was")
        for side in ("ours", "sdk"):
            if json.loads(found[f"write {name} {side}"]()) != message:
                raise SystemExit(f"{side}: the message {name} does not come back as it was")


def main() -> None:
    """Check and time the calls."""
    found = calls()
    check(found)
    # Both sides import many long-lived objects; no collection should have to walk them.
    gc.collect()
    gc.freeze()
    rounds = int(sys.argv[1])
    taken = interleave_calls(found, rounds)
    print(json.dumps(taken))


if __name__ == "__main__":
    main()
