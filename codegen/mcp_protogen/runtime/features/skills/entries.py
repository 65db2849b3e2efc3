"""Skill entries and files (ext-skills, specification/stable/skills)."""

import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Literal, Protocol, TypeAlias
from urllib.parse import unquote

from ...core.json import JSONObject, is_array, is_object
from ...core.models.base import WireModel
from .frontmatter import frontmatter_of, is_equal

SKILL_FILE: Final = "SKILL.md"
DYNAMIC: Final = "dynamic"
DIRECTORY: Final = "inode/directory"

MOST_FILES: Final = 512
MOST_BYTES: Final = 16 * 1024 * 1024
"""The limits per skill that every client accepts ("Limits")."""

# Agent Skills specification, "name field".
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_NAME: Final = 64

Reason: TypeAlias = Literal[
    "entry", "dynamic", "unlisted", "content", "size", "digest", "frontmatter"
]
"""The fault: an invalid entry, one without digests, an unlisted file, or contents that do not match
the entry."""


class UnverifiedSkill(Exception):
    """A skill, or a file of it, does not match its entry; do not use it.

    Get the entry again to go on: approvals of the old one are void ("Verification on Read").
    """

    def __init__(self, reason: Reason, uri: str, message: str) -> None:
        super().__init__(f"{uri}: {message}")
        self.reason: Final = reason
        self.uri: Final = uri


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillFile:
    """A file of a skill as it was read.

    It is `verified` if it matches its entry; files of dynamic skills never are.
    """

    uri: str
    data: bytes
    mime_type: str | None
    verified: bool

    @property
    def text(self) -> str:
        """The content as text; raise `UnicodeDecodeError` for binary data."""
        return self.data.decode()


def digest_of(data: bytes) -> str:
    return f"sha256:{sha256(data).hexdigest()}"


def wrong_name(name: str) -> str | None:
    if _NAME.fullmatch(name) and len(name) <= _LONGEST_NAME:
        return None
    allowed = f"1 to {_LONGEST_NAME} lower-case letters, digits and single hyphens between them"
    return f"the name {name!r:.100} must have {allowed}"


def root_of(entry: JSONObject) -> str:
    uri, front = entry.get("uri"), entry.get("frontmatter")
    root, slash, file = uri.rpartition("/") if isinstance(uri, str) else ("", "", "")
    if not slash or file != SKILL_FILE or not is_object(front):
        raise UnverifiedSkill("entry", str(uri), f"expected a {SKILL_FILE} URI and a frontmatter")
    name = front.get("name")
    if unquote(root.rpartition("/")[2]) != name:
        raise UnverifiedSkill("entry", f"{uri}", f"its path must end with its name, {name!r}")
    return root


def files_of(entry: JSONObject) -> Mapping[str, JSONObject] | None:
    """Return a skill's files by URI; None if it is dynamic; raise `UnverifiedSkill`."""
    root, uri, listed = root_of(entry), entry["uri"], entry.get("resources")
    if listed == DYNAMIC:
        return None
    given = listed if is_array(listed) else []
    files = {file["uri"]: file for file in given if _is_file(file, root)}
    if len(files) < len(given) or uri not in files:
        message = "its entry must list its own files, each once, with digest and size"
        raise UnverifiedSkill("entry", uri, message)
    return files


def _is_file(one: Any, root: str) -> bool:
    match one:
        case {"uri": str(uri), "digest": str(), "size": int()}:
            return _is_below(root, uri)
        case _:
            return False


def _is_below(root: str, uri: str) -> bool:
    return uri.startswith(f"{root}/") and not {".", ".."} & {*unquote(uri).split("/")}


def resolve_file(entry: JSONObject, file: str) -> str:
    """Return the URI of a file, given as URI or path; raise `UnverifiedSkill`."""
    root, files = root_of(entry), files_of(entry)
    uri = file if "://" in file else f"{root}/{file}"
    if not _is_below(root, uri) or (files is not None and uri not in files):
        raise UnverifiedSkill("unlisted", uri, "the skill's entry does not list this file")
    return uri


def verify_file(entry: JSONObject, uri: str, contents: Sequence[JSONObject]) -> SkillFile:
    if len(contents) != 1 or contents[0].get("uri") != uri:
        raise UnverifiedSkill("content", uri, "the answer must contain only this file")
    data, files = _bytes(uri, contents[0]), files_of(entry)
    if files is not None:
        size, digest = files[uri]["size"], files[uri]["digest"]
        if len(data) != size:
            raise UnverifiedSkill("size", uri, f"it has {len(data)} bytes, its entry says {size}")
        if digest_of(data) != digest:
            raise UnverifiedSkill("digest", uri, "its digest differs from its entry")
    if uri == entry["uri"]:
        _check_frontmatter(uri, data, entry["frontmatter"])
    mime_type = contents[0].get("mimeType")
    return SkillFile(uri=uri, data=data, mime_type=mime_type, verified=files is not None)


def _bytes(uri: str, content: JSONObject) -> bytes:
    text, blob = content.get("text"), content.get("blob")
    try:
        return text.encode() if isinstance(text, str) else b64decode(blob or "", validate=True)
    except ValueError:
        raise UnverifiedSkill("content", uri, "its content is not UTF-8 or base64") from None


def _check_frontmatter(uri: str, data: bytes, said: JSONObject) -> None:
    try:
        found = frontmatter_of(data.decode())
    except ValueError as error:
        raise UnverifiedSkill("frontmatter", uri, str(error)) from None
    alike = {key for key in found.keys() & said.keys() if is_equal(found[key], said[key])}
    if different := sorted((found.keys() | said.keys()) - alike):
        message = f"its frontmatter differs from its entry: {', '.join(different)}"
        raise UnverifiedSkill("frontmatter", uri, message)


class ReadsResources(Protocol):
    async def read_resource(self, uri: str, /) -> Any: ...


async def read_skill(
    client: ReadsResources, skill: WireModel, file: str = SKILL_FILE, *, unverified: bool = False
) -> SkillFile:
    """Return a file of a skill; `skill` is its entry, from the same server.

    `file` is a path below the skill's directory, or the URI of the file. Size and digest must match
    the entry, and the frontmatter of `SKILL.md`, too. A dynamic skill has no digests: it is read
    only if `unverified` is True.

    Raise `UnverifiedSkill` for a mismatch, and `ImportError` without PyYAML. A verified file is
    what the server meant to send, and not thereby safe.
    """
    entry = skill.to_wire()
    uri = resolve_file(entry, file)
    if entry["resources"] == DYNAMIC and not unverified:
        raise UnverifiedSkill("dynamic", uri, "the skill is dynamic: pass unverified=True")
    result = await client.read_resource(uri)
    return verify_file(entry, uri, result.to_wire().get("contents", []))
