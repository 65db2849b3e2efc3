"""Servers that publish skills, and clients that list, get and read them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.runtime.testing import in_memory
from mcp_revisions import (
    REVISIONS,
    McpError,
    MissingCapability,
    ServesSkills,
    SkillFolder,
    Toolkit,
    connect,
    read_skill,
    resource,
)
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28 import models as core
from mcp_revisions.v2026_07_28.ext.skills import SkillsClient, SkillsServer, SkillsSession
from mcp_revisions.v2026_07_28.ext.skills import models as m
from support.revisions import STATELESS
from support.skills.folders import FILES, write_files

IDENTIFIER = "io.modelcontextprotocol/skills"


class Asking(SkillsClient, mcp.Client):
    """A client with the extension."""


class Publishing(ServesSkills, SkillsServer, mcp.Server):
    """A server with only skills."""


class Offering(ServesSkills, SkillsServer, Toolkit, mcp.Server):
    """A server that has something else, too."""

    @resource("clock://now")
    def now(self) -> str:
        """Say when it is."""
        return "late"


class Writing(SkillsServer, mcp.Server):
    """A server with handwritten handlers for a skill that changes all the time."""

    SKILL = m.Skill(
        uri="skill://daily/SKILL.md",
        frontmatter=m.SkillFrontmatter(name="daily", description="The report of the day."),
        resources="dynamic",
    )

    async def on_list_skills(
        self, session: SkillsSession, params: core.PaginatedRequestParams
    ) -> m.ListSkillsResult:
        return m.ListSkillsResult(skills=[self.SKILL])

    async def on_get_skill(
        self, session: SkillsSession, params: m.GetSkillRequestParams
    ) -> m.GetSkillResult:
        return m.GetSkillResult(skill=self.SKILL, ttl_ms=5000, cache_scope="public")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> SkillFolder:
    return SkillFolder(write_files(tmp_path_factory.mktemp("skills"), FILES))


def publishing(cls: Any, folder: SkillFolder) -> Any:
    server = cls()
    server.skills = folder
    return server


def test_a_server_declares_what_it_answers(folder: SkillFolder) -> None:
    declared: dict[Any, Any] = {Publishing: {"directoryRead": True}, Writing: {}}
    for cls, settings in declared.items():
        assert cls().capabilities().extensions == {IDENTIFIER: settings}
    assert publishing(Publishing, folder).capabilities().resources is not None
    assert Asking().capabilities().extensions is None
    with pytest.raises(TypeError, match=r"write class Wrong\(ServesSkills, SkillsServer, …\)"):
        type("Wrong", (ServesSkills, mcp.Server), {})


def test_every_file_of_every_skill_is_read_and_verified(folder: SkillFolder) -> None:
    async def main(cls: Any, others: list[str]) -> None:
        async with connect(publishing(cls, folder), Asking()) as client:
            skills = [skill async for skill in client.iter_skills()]
            read: dict[str, bytes] = {}
            for skill in skills:
                assert (await client.get_skill(skill.uri)).skill == skill
                assert isinstance(skill.resources, list)
                for resource in skill.resources:
                    file = await read_skill(client, skill, resource.uri)
                    assert file.verified
                    read[resource.uri] = file.data
            whole = {path: content for path, content in FILES.items() if "/." not in path}
            del whole["notes.txt"]
            found = {uri.removeprefix("skill://").replace("%20", " "): read[uri] for uri in read}
            assert found == {
                path: content.encode() if isinstance(content, str) else content
                for path, content in whole.items()
            }
            listed = {resource.uri: resource async for resource in client.iter_resources()}
            assert [*listed] == [*others, *(skill.uri for skill in skills)]
            last = listed[skills[-1].uri]
            front = skills[-1].frontmatter
            assert (last.name, last.description) == (front.name, front.description)
            assert last.mime_type == "text/markdown"

    asyncio.run(main(Publishing, []))
    asyncio.run(main(Offering, ["clock://now"]))


def test_lists_have_pages(folder: SkillFolder) -> None:
    async def main() -> None:
        server = publishing(type("Little", (Publishing,), {"skills_page_size": 2}), folder)
        async with connect(server, Asking()) as client:
            first = await client.list_skills()
            assert len(first.skills) == 2 and first.next_cursor is not None
            assert len([skill async for skill in client.iter_skills()]) == 3
            directory = client.iter_read_resource_directory("skill://acme/refunds")
            assert [entry.name async for entry in directory] == ["refunds", "examples", "nested"]
            with pytest.raises(McpError) as failed:
                await client.list_skills(cursor="other")
            assert failed.value.code == -32602

    asyncio.run(main())


def test_missing_skill_is_invalid_params(folder: SkillFolder) -> None:
    async def main() -> None:
        async with connect(publishing(Publishing, folder), Asking()) as client:
            uri = "skill://git-workflow/SKILL.md"
            for wrong in (
                client.get_skill("skill://git-workflow/logo.png"),
                client.get_skill("skill://nothing/SKILL.md"),
                client.read_resource_directory(uri),
                client.read_resource_directory("skill://git-workflow/"),
                client.read_resource("skill://git-workflow/../notes.txt"),
            ):
                with pytest.raises(McpError) as failed:
                    await wrong
                assert failed.value.code == -32602
        async with connect(publishing(Offering, folder), Asking()) as client:
            with pytest.raises(McpError) as failed:
                await client.read_resource("skill://nothing/SKILL.md")
            assert failed.value.code == -32602

    asyncio.run(main())


def test_a_client_asks_only_for_what_the_server_has_declared() -> None:
    async def main() -> None:
        async with connect(Writing(), Asking()) as client:
            [skill] = (await client.list_skills()).skills
            assert skill.resources == "dynamic"
            with pytest.raises(MissingCapability, match=f"{IDENTIFIER}.directoryRead"):
                await client.read_resource_directory("skill://daily")
        async with connect(mcp.App("plain"), Asking()) as client:
            with pytest.raises(MissingCapability, match=IDENTIFIER):
                await client.list_skills()

    asyncio.run(main())


def test_clients_of_older_revisions_read_the_files_as_resources(folder: SkillFolder) -> None:
    async def main() -> None:
        for revision in REVISIONS:
            if revision.id == STATELESS:
                continue
            opener = in_memory(publishing(Offering, folder), revisions=REVISIONS)
            async with connect(opener, mcp.Client(), revisions=[revision]) as client:
                uris = [resource.uri async for resource in client.iter_resources()]
                assert uris[1:] == [entry["uri"] for entry in folder.entries]
                result = await client.read_resource(uris[-1])
                assert result.contents[0].to_wire()["text"] == FILES["git-workflow/SKILL.md"]

    asyncio.run(main())


def test_the_folder_may_be_that_of_a_class(tmp_path: Path) -> None:
    skills = SkillFolder(write_files(tmp_path, FILES))
    app: Any = type("Docs", (ServesSkills, SkillsServer, mcp.App), {"skills": skills})("docs")

    async def main() -> None:
        async with connect(app, Asking()) as client:
            assert len((await client.list_skills()).skills) == 3

    asyncio.run(main())
