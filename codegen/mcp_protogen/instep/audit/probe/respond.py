"""Answers of the SDK's types to test vectors: the responder protocol, format 1.

The job: `path` and `modules` as for describing; `name` for the hello; `written`, the members to
leave out of the output; `types`, the keys for each definition of the schema; `messages`, the keys
for each `method:kind:sender`; `envelopes`, whether there are types for envelopes.

Many SDKs have the envelope of JSON-RPC apart from the message inside. An entry with an `envelope`
is read in these two steps, and the output is put together again.
"""

import json
import os
import sys
from typing import Any, cast

from .catalogue import ModelCatalogue
from .importing import import_sdk
from .readers import NOTHING, Read, Readers

FORMAT = 1
_ENVELOPE = ("jsonrpc", "id")


def main(job: dict[str, Any], channel: int) -> None:
    """Answer line by line until standard input ends."""
    found = import_sdk(job)
    readers = Readers(ModelCatalogue(found.modules), job["written"])
    # Modules that could be imported for the description must be there.
    wrong = [entry["error"] for entry in found.skipped if entry["module"] in job["modules"]]
    with os.fdopen(channel, "w", encoding="utf-8") as out:
        for line in sys.stdin.buffer:
            question = json.loads(line)
            if "responder" in question:
                answer = {"responder": FORMAT, "name": job["name"]}
                answer |= {} if job["envelopes"] else {"envelope": "apart"}
                answer |= {"error": wrong[0]} if wrong else {}
            else:
                answer = {"id": question["id"], **_answer(question, job, readers)}
            out.write(json.dumps(answer, default=repr) + "\n")
            out.flush()


def _answer(question: dict[str, Any], job: dict[str, Any], readers: Readers) -> dict[str, Any]:
    if question.get("type"):
        entry = job["types"].get(question["type"])
    else:
        entry = job["messages"].get(f"{question['method']}:{question['kind']}:{question['sender']}")
    value = question["value"]
    if not job["envelopes"] and isinstance(value, dict) and "method" in value:
        value = _inside(value)
    read = None if entry is None else _read(entry, value, readers)
    if read is None:
        return {"verdict": "unknown"}
    if read.error:
        return {"verdict": "refused", "error": read.error}
    return {"verdict": "accepted", **({} if read.value is NOTHING else {"value": read.value})}


def _inside(message: Any) -> dict[str, Any]:
    """Return a message without its envelope."""
    return {k: v for k, v in cast("dict[str, Any]", message).items() if k not in _ENVELOPE}


def _read(entry: dict[str, Any], value: Any, readers: Readers) -> Read | None:
    keys = tuple(entry["keys"])
    if not entry["envelope"]:
        return readers.read(keys, value)
    around = readers.read(tuple(entry["envelope"]), value)
    if around is None or around.error:
        return around
    if not isinstance(value, dict):
        return Read("not an object")
    given = cast("dict[str, Any]", value)
    if entry["inside"]:
        inside = readers.read(keys, given.get(entry["inside"]))
    else:
        inside = readers.read(keys, _inside(given))
    if inside is None or inside.error or inside.value is NOTHING:
        return inside
    written: dict[str, Any] = given if around.value is NOTHING else around.value
    outside: dict[str, Any] = {key: written[key] for key in _ENVELOPE if key in written}
    if entry["inside"]:
        return Read("", {**outside, entry["inside"]: inside.value})
    return Read("", {**outside, **inside.value})
