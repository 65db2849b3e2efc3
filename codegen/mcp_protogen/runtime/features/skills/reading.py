"""Files of skills, read and verified as a host has to (ext-skills, "Verification on Read")."""

from typing import Any, Protocol

from ...core.models.base import WireModel
from .entries import DYNAMIC, SKILL_FILE, SkillFile, UnverifiedSkill, verified, wanted


class ReadsResources(Protocol):
    async def read_resource(self, uri: str, /) -> Any: ...


async def read_skill(
    client: ReadsResources, skill: WireModel, file: str = SKILL_FILE, *, unverified: bool = False
) -> SkillFile:
    """Return a file of a skill, whose entry `skill` the client has got from the same server.

    `file` is a path below the directory of the skill, or the URI of the file. A dynamic skill has
    no digests: it is read only if `unverified` allows it.

    Raise `UnverifiedSkill` for what is not as the entry says, and `ImportError` without PyYAML.
    That a file is what the server says does not make it safe: it is not from you, but from the
    server.
    """
    entry = skill.to_wire()
    uri = wanted(entry, file)
    if entry["resources"] == DYNAMIC and not unverified:
        raise UnverifiedSkill("dynamic", uri, "the skill is dynamic, and cannot be verified")
    result = await client.read_resource(uri)
    return verified(entry, uri, result.to_wire().get("contents", []))
