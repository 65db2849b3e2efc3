"""A folder of skills that a server publishes, read once (ext-skills, "Resource Mapping").

URIs are looked up, not made into paths, so clients reach nothing outside of the folder.
"""

import os
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from mimetypes import guess_type
from os import PathLike
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any, ClassVar, Final
from urllib.parse import quote

from ...core.errors import INVALID_PARAMS, McpError, MethodNotFound
from ...core.json import JSONObject
from ...core.pagination import page
from ...messages.method_table import MethodTable
from .entries import DIRECTORY, MOST_BYTES, MOST_FILES, SKILL_FILE, digest_of, wrong_name
from .frontmatter import frontmatter_of

_SCHEME: Final = "skill://"
# Characters of a path segment, and of a host, besides letters and digits (RFC 3986, sections 3.2.2
# and 3.3).
_SAFE: Final = "/-._~!$&'()*+,;="
_TYPES: Final[Mapping[str, str]] = {".md": "text/markdown"}
_NO_LINK: Final[int] = getattr(os, "O_NOFOLLOW", 0)

_LIST: Final = "skills/list"
_GET: Final = "skills/get"
_DIRECTORY: Final = "resources/directory/read"
_RESOURCES: Final = "resources/list"
_READ: Final = "resources/read"

# resources/directory/read need not say how long results may be kept, but clients of the TypeScript
# SDK 2.4.0 require it.
_NOT_KEPT: Final = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


class InvalidSkill(ValueError):
    """A skill in a folder does not follow the specifications."""


class _Found:
    def __init__(self) -> None:
        self.files = dict[str, bytes]()
        self.children = dict[str, list[str]]()
        self.frontmatter = dict[str, JSONObject]()
        """By the URI of `SKILL.md`."""
        self.entries = dict[str, JSONObject]()


class SkillFolder:
    """The skills below a folder, as read: `skill://path/of/skill/SKILL.md`.

    Names that begin with a dot are skipped. Raise `InvalidSkill` for an invalid skill and for
    links, `OSError` for unreadable files, and `ImportError` without PyYAML.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path: Final = Path(path)
        self.reload()

    def reload(self) -> None:
        """Read the folder again; after an error, the earlier content stays."""
        found = _Found()
        _read(self.path, "", found)
        found.entries = {uri: _entry(uri, found) for uri in sorted(found.frontmatter)}
        self._found = found

    @property
    def entries(self) -> Sequence[JSONObject]:
        """The entries of skills by URI, with digest and size of each file."""
        return list(self._found.entries.values())

    def entry(self, uri: str) -> JSONObject | None:
        """Return the entry of the skill with this `SKILL.md` URI, if any."""
        return self._found.entries.get(uri)

    def resource(self, uri: str) -> JSONObject:
        """Return the list entry of a file or directory; raise `LookupError`."""
        if uri in self._found.children:
            return {"uri": uri, "name": _name(uri), "mimeType": DIRECTORY}
        front = self._found.frontmatter.get(uri, {})
        listed = {"uri": uri, "name": front.get("name") or _name(uri)}
        if front:
            listed["description"] = front["description"]
        data = self._found.files[uri]
        return {**listed, "mimeType": _type(uri, data), "size": len(data)}

    def children(self, uri: str) -> Sequence[JSONObject] | None:
        """Return the content of a directory; None for other URIs."""
        children = self._found.children.get(uri)
        return None if children is None else [self.resource(child) for child in children]

    def content(self, uri: str) -> JSONObject | None:
        """Return the content of a file, as text if it is UTF-8; None for other URIs."""
        data = self._found.files.get(uri)
        if data is None:
            return None
        text = _text(data)
        body = {"blob": b64encode(data).decode()} if text is None else {"text": text}
        return {"uri": uri, "mimeType": _type(uri, data), **body}


def _name(uri: str) -> str:
    return uri.rpartition("/")[2]


def _type(uri: str, data: bytes) -> str:
    suffix = os.path.splitext(uri)[1].lower()
    usual = "application/octet-stream" if _text(data) is None else "text/plain"
    return _TYPES.get(suffix) or guess_type(f"x{suffix}")[0] or usual


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _read(folder: Path, path: str, result: _Found) -> None:
    children: list[str] = []
    for name in sorted(os.listdir(folder)):
        if name.startswith("."):
            continue
        place, below = folder / name, f"{path}/{name}" if path else name
        uri = _SCHEME + quote(below, safe=_SAFE)
        mode = place.lstat().st_mode
        if S_ISDIR(mode):
            _read(place, below, result)
        elif not S_ISREG(mode):
            raise InvalidSkill(f"{place}: it must be a file or folder, and not a link")
        elif path:
            result.files[uri] = _bytes(place)
            if name == SKILL_FILE:
                result.frontmatter[uri] = _frontmatter(place, result.files[uri])
        elif name == SKILL_FILE:
            raise InvalidSkill(f"{place}: give the parent of the skill's folder")
        else:
            continue
        children.append(uri)
    if path:
        result.children[_SCHEME + quote(path, safe=_SAFE)] = children


def _bytes(place: Path) -> bytes:
    # Does not open a file that has become a link since.
    with open(os.open(place, os.O_RDONLY | _NO_LINK | getattr(os, "O_BINARY", 0)), "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise InvalidSkill(f"{place}: a skill must not exceed {MOST_BYTES} bytes")
    return data


def _frontmatter(place: Path, data: bytes) -> JSONObject:
    try:
        front = frontmatter_of(data.decode())
    except ValueError as error:
        raise InvalidSkill(f"{place}: {error}") from None
    name, description = front.get("name"), front.get("description")
    if not isinstance(name, str) or not isinstance(description, str) or not description:
        raise InvalidSkill(f"{place}: its frontmatter must have a name and a description")
    if wrong := wrong_name(name):
        raise InvalidSkill(f"{place}: {wrong}")
    if name != place.parent.name:
        raise InvalidSkill(f"{place}: its name {name!r} must be that of its folder")
    return front


def _entry(uri: str, result: _Found) -> JSONObject:
    files = sorted(_below(uri.removesuffix(f"/{SKILL_FILE}"), result))
    size = sum(len(result.files[file]) for file in files)
    if len(files) > MOST_FILES or size > MOST_BYTES:
        most = f"at most {MOST_FILES} files and {MOST_BYTES} bytes"
        raise InvalidSkill(f"{uri}: a skill has {most}, not {len(files)} and {size}")
    resources = [
        {"uri": file, "digest": digest_of(result.files[file]), "size": len(result.files[file])}
        for file in files
    ]
    return {"uri": uri, "frontmatter": result.frontmatter[uri], "resources": resources}


def _below(directory: str, result: _Found) -> Iterator[str]:
    for uri in result.children[directory]:
        if uri in result.children:
            yield from _below(uri, result)
        else:
            yield uri


class ServesSkills:
    """A server of the skills in a folder: `class Docs(ServesSkills, SkillsServer, mcp.Server)`.

    Each file is a resource. The list of resources adds each `SKILL.md` to those of the bases; other
    resources are read from the bases.
    """

    TABLE: ClassVar[MethodTable]
    skills: SkillFolder
    """The folder, set in the class or in `__init__`."""
    skills_page_size: ClassVar[int] = 50
    """The skills, or files of a directory, per page."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if hasattr(cls, "TABLE") and _LIST not in cls.TABLE.requests:
            name = cls.__name__
            raise TypeError(f"write class {name}(ServesSkills, SkillsServer, …)")

    async def on_list_skills(self, session: Any, params: Any) -> Any:
        found, following = page(self.skills.entries, params.cursor, self.skills_page_size)
        return _result(self, _LIST, {"skills": found, "nextCursor": following})

    async def on_get_skill(self, session: Any, params: Any) -> Any:
        entry = self.skills.entry(params.uri)
        if entry is None:
            raise _absent("Skill not found", params.uri)
        return _result(self, _GET, {"skill": entry})

    async def on_read_resource_directory(self, session: Any, params: Any) -> Any:
        children = self.skills.children(params.uri)
        if children is None:
            raise _absent("Directory not found", params.uri)
        found, following = page(children, params.cursor, self.skills_page_size)
        return _result(self, _DIRECTORY, {"resources": found, "nextCursor": following})

    async def on_list_resources(self, session: Any, params: Any) -> Any:
        bases: Any = super()
        try:
            listed = await bases.on_list_resources(session, params)
        except MethodNotFound:
            listed = _result(self, _RESOURCES, {"resources": []})
        if listed.next_cursor is not None:
            return listed
        own = [self.skills.resource(entry["uri"]) for entry in self.skills.entries]
        whole = listed.to_wire()
        return _result(self, _RESOURCES, {**whole, "resources": [*whole["resources"], *own]})

    async def on_read_resource(self, session: Any, params: Any) -> Any:
        if (content := self.skills.content(params.uri)) is not None:
            return _result(self, _READ, {"contents": [content]})
        bases: Any = super()
        try:
            return await bases.on_read_resource(session, params)
        except MethodNotFound:
            raise _absent("Resource not found", params.uri) from None


def _result(server: ServesSkills, method: str, members: JSONObject) -> Any:
    cls: Any = server.TABLE.requests[method].results[0]
    given = {key: value for key, value in members.items() if value is not None}
    return cls.from_wire({**_NOT_KEPT, **given})


def _absent(message: str, uri: str) -> McpError:
    return McpError(INVALID_PARAMS, message, {"uri": uri})
