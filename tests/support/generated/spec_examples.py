"""The messages printed in the specification's pages, and their entries in the index."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from mcp_protogen.base import jsonpointer
from support import missing
from support.generated.golden_package import REVISIONS, shared_json
from support.json_types import read_json

Json = dict[str, Any]

SHOWN = "what becomes of examples of the specification"

# Members that 2026-07-28 samples leave out for brevity; the index says where.
META: Json = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@dataclass(frozen=True, slots=True)
class Example:
    """One message of a page, and its entry in the index."""

    revision: str
    entry: Json

    def message(self) -> Json:
        message: Json = shared_json(f"examples/{self.revision}/{self.entry['file']}", SHOWN)
        return message

    def whole(self) -> Json:
        """The message with the metadata that the page left out."""
        message = self.message()
        if "elided_required_meta" not in self.entry:
            return message
        params: Json = message.get("params", {})
        meta = {key: META[key] for key in self.entry["elided_required_meta"]}
        return {**message, "params": {**params, "_meta": {**meta, **params.get("_meta", {})}}}

    def parts(self) -> Iterator[tuple[str, Any]]:
        """Return the definitions of the message, each with the part that it describes."""
        for check in self.entry["checks"]:
            place = f"/{check['at']}" if check["at"] else ""
            yield check["definition"], jsonpointer.get(self.whole(), place)

    @property
    def name(self) -> str:
        return f"{self.revision}/{self.entry['file']}"

    @property
    def sound(self) -> bool:
        if "errors_after_inserting_meta" in self.entry:
            return not self.entry["errors_after_inserting_meta"]
        valid: bool = self.entry["validates"]
        return valid


def examples(*kinds: str, sound: bool = True) -> list[Example]:
    """Return the messages of some kinds; skip the test without them."""
    found = [
        example
        for example in all_examples()
        if example.entry["kind"] in kinds and example.sound == sound
    ]
    if not found:
        missing.skip_untested("the folder ../shared", SHOWN)
    return found


@cache
def all_examples() -> tuple[Example, ...]:
    return tuple(_read_examples())


def _read_examples() -> Iterator[Example]:
    for revision in REVISIONS:
        index = missing.SHARED / "examples" / revision / "index.json"
        if index.is_file():
            for entry in read_json(index):
                yield Example(revision, entry)
