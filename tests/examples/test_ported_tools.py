"""The servers of `examples/` that need nothing else."""

import asyncio
import json
import os
import subprocess
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

import pytest
from support.examples.ported import EDGES, failure, load_server, using
from support.json_types import JsonObject
from support.revisions import NEWEST, OLD
from support.sessions.talking import pkg
from support.tables import case

NOW = datetime(2024, 3, 31, 12, 34, 56, tzinfo=UTC)


class Fixed(datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "Fixed":
        there = NOW.astimezone(tz)
        return cls.fromisoformat(there.isoformat()).replace(tzinfo=tz)


def clock() -> Any:
    module = load_server("time_server")
    module.datetime = Fixed
    return module


def moment(timezone: str, written: str, day: str = "Sunday", dst: bool = False) -> Any:
    return {"timezone": timezone, "datetime": written, "day_of_week": day, "is_dst": dst}


NOWS = (
    moment("Europe/Warsaw", "2024-03-31T14:34:56+02:00", dst=True),
    moment("America/New_York", "2024-03-31T08:34:56-04:00", dst=True),
    moment("Asia/Kathmandu", "2024-03-31T18:19:56+05:45"),
    moment("Pacific/Kiritimati", "2024-04-01T02:34:56+14:00", "Monday"),
    moment("UTC", "2024-03-31T12:34:56+00:00"),
)
CONVERSIONS = {
    ("Europe/Warsaw", "9:05", "Asia/Tokyo"): ("+7.0h", "2024-03-31T16:05:00+09:00"),
    ("Asia/Tokyo", "00:30", "Asia/Kathmandu"): ("-3.25h", "2024-03-30T21:15:00+05:45"),
    ("UTC", "23:59", "UTC"): ("+0.0h", "2024-03-31T23:59:00+00:00"),
    # There, it is daylight saving time from 2 o'clock of that day on.
    ("Europe/Warsaw", "01:59", "UTC"): ("-1.0h", "2024-03-31T00:59:00+00:00"),
}


async def test_the_time_is_told_and_converted() -> None:
    for revision in EDGES:
        async with using(clock().app, revision) as client:
            for expected in NOWS:
                given = {"timezone": expected["timezone"]}
                told = await client.call_tool("get_current_time", given, as_=dict[str, Any])
                assert told == expected
            for (source, time, target), (difference, written) in CONVERSIONS.items():
                given = {"source_timezone": source, "time": time, "target_timezone": target}
                told = await client.call_tool("convert_time", given, as_=dict[str, Any])
                assert (told["time_difference"], told["target"]["datetime"]) == (
                    difference,
                    written,
                )
                assert told["source"]["timezone"] == source


async def test_zones_and_times_that_do_not_exist_are_refused() -> None:
    for revision in EDGES:
        async with using(clock().app, revision) as client:
            for zone in ("Mars/Olympus", "America", "../etc/passwd", ""):
                with case((revision, zone)):
                    said = await failure(client, "get_current_time", timezone=zone)
                    assert "/timezone: invalid timezone" in said
            for time in ("24:00", "9", "12:60", "12:30:00", "noon"):
                given = {"source_timezone": "UTC", "target_timezone": "UTC", "time": time}
                with case((revision, time)):
                    assert "/time: String should match" in await failure(
                        client, "convert_time", **given
                    )


async def test_models_learn_the_zone_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for zone, named in (("Asia/Tokyo", "Asia/Tokyo"), (":no/such", load_server("time_server"))):
        monkeypatch.setenv("TZ", zone)
        expected = named if isinstance(named, str) else named.local_zone()
        async with using(load_server("time_server").app, NEWEST) as client:
            first, _ = [tool async for tool in client.iter_tools()]
            described = first.input_schema["properties"]["timezone"]["description"]
            assert described.endswith(f"If the user names none: {expected}.")


ADA: JsonObject = {"name": "Ada", "entityType": "person", "observations": ["likes engines"]}
BOB: JsonObject = {"name": "Bob", "entityType": "person", "observations": []}
ENGINE: JsonObject = {"name": "Engine", "entityType": "machine", "observations": ["has wheels"]}
LIKES: JsonObject = {"from": "Ada", "to": "Engine", "relationType": "likes"}
TALL = "is\u2028tall"
KNOWS: JsonObject = {"from": "Bob", "to": "Ada", "relationType": "knows"}
ALL: JsonObject = {"entities": [ADA, BOB, ENGINE], "relations": [LIKES, KNOWS]}

# The steps of one story: a tool, its arguments, and its result.
MEMORIES: tuple[tuple[str, Any, Any], ...] = (
    ("read_graph", {}, {"entities": [], "relations": []}),
    ("create_entities", {"entities": [ADA, BOB, ADA]}, {"entities": [ADA, BOB]}),
    ("create_entities", {"entities": [ADA, ENGINE]}, {"entities": [ENGINE]}),
    ("create_relations", {"relations": [LIKES, KNOWS, LIKES]}, {"relations": [LIKES, KNOWS]}),
    ("create_relations", {"relations": [LIKES]}, {"relations": []}),
    ("read_graph", {}, ALL),
    (
        "add_observations",
        {"observations": [{"entityName": "Bob", "contents": [TALL, TALL]}]},
        {"results": [{"entityName": "Bob", "addedObservations": [TALL]}]},
    ),
    (
        "search_nodes",
        {"query": "WHEEL"},
        {"entities": [ENGINE], "relations": [LIKES]},
    ),
    (
        "search_nodes",
        {"query": "tall"},
        {"entities": [{**BOB, "observations": [TALL]}], "relations": [KNOWS]},
    ),
    ("open_nodes", {"names": ["Ada", "Eve"]}, {"entities": [ADA], "relations": [LIKES, KNOWS]}),
    (
        "delete_observations",
        {"deletions": [{"entityName": name, "observations": [TALL]} for name in ("Bob", "Eve")]},
        {"success": True, "message": "The observations are deleted"},
    ),
    ("read_graph", {}, ALL),
    (
        "delete_relations",
        {"relations": [KNOWS]},
        {"success": True, "message": "The relations are deleted"},
    ),
    (
        "delete_entities",
        {"entityNames": ["Ada"]},
        {"success": True, "message": "The entities are deleted"},
    ),
    ("read_graph", {}, {"entities": [BOB, ENGINE], "relations": []}),
)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The server, with its own file."""
    monkeypatch.setenv("MEMORY_FILE_PATH", str(tmp_path / "graph.jsonl"))
    return load_server("memory_server")


async def test_memory_is_kept_between_connections(memory: Any) -> None:
    for revision in EDGES:
        memory.FILE.unlink(missing_ok=True)
        for tool, given, expected in MEMORIES:
            # One connection's memories are known to the next.
            async with using(memory.app, revision) as client:
                with case((revision, tool, given)):
                    assert await client.call_tool(tool, given, as_=dict[str, Any]) == expected


async def test_the_file_has_a_line_for_each_entity_and_relation(memory: Any) -> None:
    lines = [{"type": "entity", **ADA}, {"type": "relation", **LIKES, "weight": 1}]
    written = "\n\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    memory.FILE.write_text(written, encoding="utf-8")
    async with using(memory.app, NEWEST) as client:
        await client.call_tool("create_entities", {"entities": [BOB]}, check=True)
    found = [json.loads(line) for line in memory.FILE.read_text("utf-8").splitlines()]
    assert found == [lines[0], {"type": "entity", **BOB}, {"type": "relation", **LIKES}]
    assert os.listdir(memory.FILE.parent) == [memory.FILE.name]


async def test_a_call_that_fails_changes_nothing(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.FILE.write_text(json.dumps({"type": "entity", **ADA}))
    before = memory.FILE.read_bytes()
    facts = [{"entityName": name, "contents": ["new"]} for name in ("Ada", "Eve")]
    for revision in EDGES:
        async with using(memory.app, revision) as client:
            said = await failure(client, "add_observations", observations=facts)
            assert said == "There is no entity with the name Eve"

    def full(*_: object, **__: object) -> None:
        raise OSError("No space left on device")

    async with using(memory.app, NEWEST) as client:
        with monkeypatch.context() as patched:
            patched.setattr(Path, "replace", full)
            assert "failed" in await failure(client, "create_entities", entities=[BOB])
        assert memory.FILE.read_bytes() == before
        await client.call_tool("create_entities", {"entities": [BOB]}, check=True)


async def test_calls_at_one_time_do_not_lose_what_others_learn(memory: Any) -> None:
    named = [{**BOB, "name": f"Bob {number}"} for number in range(20)]
    async with using(memory.app, NEWEST) as client:
        adding = (client.call_tool("create_entities", {"entities": [entity]}) for entity in named)
        await asyncio.gather(*adding)
        read = await client.call_tool("read_graph", as_=dict[str, Any])
    assert {entity["name"] for entity in read["entities"]} == {entity["name"] for entity in named}


async def test_subscribers_hear_of_changes(memory: Any) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    begun = asyncio.Event()

    async def on_resource_updated(self: object, params: Any) -> None:
        heard.put_nowait(params.uri)

    async def on_subscriptions_acknowledged(self: object, params: object) -> None:
        begun.set()

    async with using(memory.app, EDGES[0], on_resource_updated=on_resource_updated) as client:
        await client.subscribe(memory.URI)
        await client.call_tool("create_entities", {"entities": [ADA]})
        assert await heard.get() == memory.URI
        read = await client.read_resource(memory.URI)
        assert json.loads(read.contents[0].text) == {"entities": [ADA], "relations": []}
    m = pkg.load(NEWEST).models
    handlers: dict[str, Any] = {"on_subscriptions_acknowledged": on_subscriptions_acknowledged}
    handlers["on_resource_updated"] = on_resource_updated
    async with using(memory.app, NEWEST, **handlers) as client:
        wanted = m.SubscriptionFilter(resource_subscriptions=[memory.URI])
        listening = asyncio.create_task(client.subscriptions_listen(wanted))
        await begun.wait()
        await client.call_tool("delete_entities", {"entityNames": ["Ada"]})
        assert await heard.get() == memory.URI
        listening.cancel()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a commit on main and another one on topic, which is checked out."""
    for name, value in {"NAME": "Ada", "EMAIL": "ada@example.org"}.items():
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", value)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("LC_ALL", "C")
    folder = tmp_path / "repository"
    (folder / "inner").mkdir(parents=True)
    for command in (
        "init -q -b main",
        "commit -q --allow-empty -m first --date 2024-01-15T14:30:25Z",
        "checkout -q -b topic",
    ):
        subprocess.run(["git", "-C", folder, *command.split()], check=True)
    (folder / "a.txt").write_text("one\n")
    (folder / "-x").write_text("x\n")
    subprocess.run(["git", "-C", folder, "add", "."], check=True)
    subprocess.run(["git", "-C", folder, "commit", "-q", "-m", "second\n\nand more"], check=True)
    return folder


# The steps of one story: a tool, its arguments, and parts of its answer.
COMMANDS: tuple[tuple[str, Any, tuple[str, ...]], ...] = (
    ("git_status", {}, ("Status of the repository:\nOn branch topic", "modified:   a.txt")),
    ("git_diff_unstaged", {}, ("Changes not staged:\n", "-one\n+two")),
    ("git_diff_unstaged", {"context_lines": 0}, ("@@ -1 +1 @@",)),
    ("git_diff_staged", {}, ("Changes staged:\n",)),
    ("git_add", {"files": ["a.txt", "-x"]}, ("The files are staged",)),
    ("git_diff_staged", {}, ("-one\n+two",)),
    ("git_reset", {}, ("Nothing is staged any more",)),
    ("git_status", {}, ("Changes not staged for commit",)),
    ("git_add", {"files": ["."]}, ("The files are staged",)),
    ("git_commit", {"message": "--amend"}, ("Committed as ",)),
    ("git_log", {"max_count": 2}, ("Author: Ada <ada@example.org>", "Message: --amend", "second")),
    ("git_log", {"max_count": 1}, ("Message: --amend",)),
    ("git_log", {"start_timestamp": "1 hour ago"}, ("second\n\nand more",)),
    ("git_log", {"end_timestamp": "2000-01-01"}, ("History:\n",)),
    ("git_diff", {"target": "main", "context_lines": 1}, ("Differences from main:\n", "+two")),
    ("git_diff", {"target": "main..topic~1"}, ("+one",)),
    ("git_show", {"revision": "HEAD~1"}, ("Message: second\n\nand more", "+++ b/a.txt\n")),
    ("git_create_branch", {"branch_name": "new"}, ("Created new from topic",)),
    (
        "git_create_branch",
        {"branch_name": "old", "base_branch": "main"},
        ("Created old from main",),
    ),
    ("git_checkout", {"branch_name": "old"}, ("Switched to old",)),
    ("git_branch", {"branch_type": "local"}, ("  main\n  new\n* old\n  topic",)),
    ("git_branch", {"branch_type": "all", "contains": "topic"}, ("  new\n  topic",)),
    ("git_branch", {"branch_type": "local", "not_contains": "topic"}, ("  main\n* old",)),
    ("git_branch", {"branch_type": "remote", "contains": None}, ("",)),
)


async def test_git_is_run(repository: Path) -> None:
    module = load_server("git_server")
    for revision in EDGES:
        (repository / "a.txt").write_text("two\n")
        async with using(module.app, revision) as client:
            for tool, given, parts in COMMANDS:
                with case((revision, tool, given)):
                    call = {"repo_path": str(repository), **given}
                    said = (await client.call_tool(tool, call, check=True)).text
                    assert all(part in said for part in parts), said
        # As it was before.
        for command in ("checkout -q topic", "reset -q --hard HEAD~1", "branch -q -D new old"):
            subprocess.run(["git", "-C", repository, *command.split()], check=True)


# Arguments that would be harmful if git got them unchanged, and their refusals.
ATTACKS: tuple[tuple[str, Any, str], ...] = (
    ("git_diff", {"target": "--output=stolen"}, "/target: String should match"),
    ("git_diff", {"target": "no-such-branch"}, "bad revision"),
    ("git_diff", {"target": "a.txt"}, "bad revision"),
    ("git_diff_staged", {"context_lines": -1}, "/context_lines"),
    ("git_show", {"revision": "--output=stolen"}, "/revision: String should match"),
    ("git_show", {"revision": "HEAD:a.txt"}, "bad revision"),
    ("git_checkout", {"branch_name": "--force"}, "/branch_name: String should match"),
    ("git_checkout", {"branch_name": "a.txt"}, "invalid reference"),
    ("git_create_branch", {"branch_name": "-D"}, "/branch_name: String should match"),
    ("git_create_branch", {"branch_name": "x", "base_branch": "--force"}, "/base_branch"),
    ("git_branch", {"contains": "--show-current"}, "/contains: String should match"),
    ("git_branch", {"branch_type": "--list"}, "/branch_type"),
    ("git_log", {"max_count": 0}, "/max_count"),
    ("git_add", {"files": []}, "/files"),
    ("git_add", {"files": ["../outside"]}, "is outside repository"),
    ("git_add", {"files": ["/etc/passwd"]}, "is outside repository"),
    ("git_commit", {"message": "nothing"}, "nothing to commit"),
    ("git_status", {"repo_path": "inner"}, "not a git repository"),
    ("git_status", {"repo_path": "no-such-folder"}, "No such file or directory"),
    ("git_status", {"repo_path": ".."}, "/repo_path: outside of the repositories"),
    ("git_status", {"repo_path": "link"}, "/repo_path: outside of the repositories"),
)


async def test_git_gets_no_options_and_leaves_no_repository(repository: Path) -> None:
    module = load_server("git_server")
    module.allowed.append(repository)
    (repository.parent / "outside").write_text("")
    (repository / ".git" / "info" / "exclude").write_text("link\n")
    (repository / "link").symlink_to(repository.parent)
    before = sorted(repository.iterdir())
    for revision in EDGES:
        async with using(module.app, revision) as client:
            for tool, given, refusal in ATTACKS:
                folder = str(repository / given.get("repo_path", ""))
                with case((revision, tool, given)):
                    said = await failure(client, tool, **{**given, "repo_path": folder})
                    assert refusal in said, said
    assert sorted(repository.iterdir()) == before


async def test_dates_of_commits_are_no_options(repository: Path) -> None:
    async with using(load_server("git_server").app, OLD) as client:
        call = {"repo_path": str(repository), "start_timestamp": "--output=stolen"}
        await client.call_tool("git_log", call, check=True)
    assert not (repository / "stolen").exists()


async def test_two_servers_are_one_with_prefixes() -> None:
    module = load_server("mounted_server")
    weather = {"celsius": 21.5, "conditions": "sunny", "humidity": 45, "wind_speed": 2.5}
    for revision in EDGES:
        async with using(module.app, revision) as client:
            assert [tool.name async for tool in client.iter_tools()] == [
                "check_app_status",
                "weather_get_weather_forecast",
                "news_get_news_headlines",
            ]
            assert [resource.uri async for resource in client.iter_resources()] == [
                "weather://weather/forecast",
                "news://news/headlines",
            ]
            status = await client.call_tool("check_app_status", as_=dict[str, str])
            assert (status["status"], status["version"]) == ("running", "1.0.0")
            given = {"location": "Ulm"}
            told = await client.call_tool("weather_get_weather_forecast", given, check=True)
            assert told.text == "It will be sunny in Ulm, with a light wind."
            told = await client.call_tool("news_get_news_headlines", as_=list[str])
            assert told == module.HEADLINES
            read = await client.read_resource("weather://weather/forecast")
            assert json.loads(read.contents[0].text) == weather
            read = await client.read_resource("news://news/headlines")
            assert json.loads(read.contents[0].text)["top_story"] == module.HEADLINES[0]
        # Each still works alone.
        async with using(module.news, revision) as client:
            assert [tool.name async for tool in client.iter_tools()] == ["get_news_headlines"]
