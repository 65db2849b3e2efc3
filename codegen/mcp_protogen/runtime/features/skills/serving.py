"""The handlers of a server that publishes a folder of skills (ext-skills, "Error Handling")."""

from typing import Any, ClassVar, Final

from ...core.errors import INVALID_PARAMS, McpError, MethodNotFound
from ...core.json import JSONObject
from ...core.pagination import page
from ...messages.method_table import MethodTable
from .folder import SkillFolder

_LIST: Final = "skills/list"
_GET: Final = "skills/get"
_DIRECTORY: Final = "resources/directory/read"
_RESOURCES: Final = "resources/list"
_READ: Final = "resources/read"

# Results of resources/directory/read need not say how long they may be kept, but clients of the
# TypeScript SDK 2.4.0 take no others.
_NOT_KEPT: Final = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


class ServesSkills:
    """A server of the skills in a folder: `class Docs(ServesSkills, SkillsServer, mcp.Server)`.

    The list of resources has each `SKILL.md`, after those that the bases have; what is not a
    skill's is read from the bases.
    """

    TABLE: ClassVar[MethodTable]
    skills: SkillFolder
    """The folder, set by the class or its `__init__`."""
    skills_page_size: ClassVar[int] = 50
    """The number of skills, or of files of a directory, in one page."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if hasattr(cls, "TABLE") and _LIST not in cls.TABLE.requests:
            name = cls.__name__
            raise TypeError(f"write class {name}(ServesSkills, SkillsServer, …): see ext.skills")

    async def on_list_skills(self, session: Any, params: Any) -> Any:
        found, following = page(self.skills.entries, params.cursor, self.skills_page_size)
        return _result(self, _LIST, {"skills": found, "nextCursor": following})

    async def on_get_skill(self, session: Any, params: Any) -> Any:
        entry = self.skills.entry(params.uri)
        if entry is None:
            raise _absent("There is no skill at this URI", params.uri)
        return _result(self, _GET, {"skill": entry})

    async def on_read_resource_directory(self, session: Any, params: Any) -> Any:
        children = self.skills.children(params.uri)
        if children is None:
            raise _absent("There is no directory at this URI", params.uri)
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
        content = self.skills.content(params.uri)
        if content is not None:
            return _result(self, _READ, {"contents": [content]})
        bases: Any = super()
        try:
            return await bases.on_read_resource(session, params)
        except MethodNotFound:
            raise _absent("Resource not found", params.uri) from None


def _result(server: ServesSkills, method: str, members: JSONObject) -> Any:
    cls: Any = server.TABLE.requests[method].results[0]
    given = {key: one for key, one in members.items() if one is not None}
    return cls.from_wire({**_NOT_KEPT, **given})


def _absent(message: str, uri: str) -> McpError:
    return McpError(INVALID_PARAMS, message, {"uri": uri})
