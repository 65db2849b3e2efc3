"""A responder with the committed package: types by its models, messages by its tables.

With `apart` it omits the envelope of messages, and with `apart told` it declares so.
"""

import json
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from mcp_protogen.runtime.core.models.base import validator_of
from mcp_protogen.runtime.messages.extended_table import ExtendedTable
from mcp_revisions import load

Json = dict[str, Any]

# The first revision would hide Python's own name.
RENAMED = {"Annotated": "AnnotatedObject"}
APART, TOLD = "apart" in sys.argv, "told" in sys.argv
INSIDE = ("params", "result")


class Responder:
    """A reader and writer of values of one revision, or of an extension in it."""

    def __init__(self, revision: str, extension: str | None) -> None:
        loaded: Any = load(revision)
        self._models: Any = loaded.models
        self._table: Any = loaded.methods.TABLE
        if extension is not None:
            own: Any = import_module(f"{loaded.__name__}.ext.{extension.replace('-', '_')}")
            self._models = own.models
            self._table = ExtendedTable(self._table, (own.EXTENSION,))

    def answer(self, asked: Json) -> Json:
        read = self._reader(asked)
        if read is None:
            return {"id": asked["id"], "verdict": "unknown"}
        if APART and "method" in asked:
            read = _inside(read, asked)
        try:
            written = read(asked["value"])
        except Exception as error:  # any exception of a model is a refusal
            return {"id": asked["id"], "verdict": "refused", "error": str(error).split("\n")[0]}
        return {"id": asked["id"], "verdict": "accepted", "value": written}

    def _reader(self, asked: Json) -> Callable[[Any], Any] | None:
        if "type" in asked:
            return self._of_type(asked["type"])
        table, method, sender = self._table, asked["method"], asked["sender"]
        if asked["kind"] == "request":
            spec = table.request(method, sender)
            return spec and (lambda value: self._request(spec, value, sender))
        if asked["kind"] == "notification":
            spec = table.notification(method, sender)
            return spec and (lambda value: self._notification(spec, value, sender))
        other = "client" if sender == "server" else "server"
        spec = table.request(method, other)
        return spec and (lambda value: self._result(spec, value))

    def _request(self, spec: Any, value: Any, sender: str) -> Any:
        read = self._table.parse_request(json.dumps(value), sender=sender)
        return json.loads(self._table.serialise_request(spec, read.id, read.params))

    def _notification(self, spec: Any, value: Any, sender: str) -> Any:
        read = self._table.parse_notification(json.dumps(value), sender=sender)
        return json.loads(self._table.serialise_notification(spec, read.params))

    def _result(self, spec: Any, value: Any) -> Any:
        read = self._table.parse_answer(json.dumps(value), spec=spec)
        return json.loads(self._table.serialise_result(spec, read.id, read.value))

    @cache  # noqa: B019 (one responder lives as long as the process)
    def _of_type(self, name: str) -> Callable[[Any], Any] | None:
        kind: Any = getattr(self._models, RENAMED.get(name, name), None)
        if kind is None:
            return None
        if isinstance(kind, type):
            model: Any = kind
            return lambda value: model.from_wire(value).to_wire()
        validate = validator_of(kind)
        return lambda value: _plain(validate(value))


def _inside(read: Callable[[Any], Any], asked: Json) -> Callable[[Any], Any]:
    """Return a reader without the envelope."""
    right = {"jsonrpc": "2.0"}
    right |= {"id": "request-1"} if asked["kind"] != "notification" else {}
    right |= {"method": asked["method"]} if asked["kind"] != "result" else {}

    def read_inside(value: Any) -> Any:
        given = {name: value[name] for name in INSIDE if name in value}
        return {name: item for name, item in read({**right, **given}).items() if name in INSIDE}

    return read_inside


def _plain(typed: Any) -> Any:
    if hasattr(typed, "to_wire"):
        return typed.to_wire()
    if isinstance(typed, list):
        return [_plain(item) for item in typed]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(typed, dict):
        return {key: _plain(item) for key, item in typed.items()}  # pyright: ignore
    return typed


def lines() -> Iterator[Json]:
    for line in sys.stdin:
        yield json.loads(line)


def main() -> None:
    """Answer until the input ends."""
    responder: Responder | None = None
    for asked in lines():
        if responder is None:
            responder = Responder(asked["revision"], asked.get("extension"))
            answer: Json = {"responder": 1, "name": "mcp_revisions"}
            answer |= {"envelope": "apart"} if TOLD else {}
        else:
            answer = responder.answer(asked)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
