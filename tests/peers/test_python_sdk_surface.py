"""The configuration of `examples/python-sdk` gives the same types as the SDK's own script."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.instep.vectors.vector import Vector
from mcp_protogen.pipeline.config import Docstrings, GivenPatches
from mcp_protogen.pipeline.inputs import patches
from mcp_protogen.pipeline.inputs.pins import read_snapshot
from mcp_protogen.pipeline.selection import prepare
from mcp_protogen.pipeline.settings import Settings, load_settings
from support import tables
from support.folders import ROOT
from support.made_once import generated_once, vectors_once
from support.peers.places import PROGRAMS, python_with

EXAMPLE: Final = ROOT / "examples" / "python-sdk"
REVISIONS: Final = ("2025-11-25", "2026-07-28")
NAMES: Final[Any] = json.loads((EXAMPLE / "names.json").read_text())

DONE: Final = {
    "/$defs/NumberSchema/properties/default/type",
    "/$defs/NumberSchema/properties/maximum/type",
    "/$defs/NumberSchema/properties/minimum/type",
    "/$defs/SubscriptionsListenResult/properties/_meta/$ref",
    "/$defs/SubscriptionsListenResultMeta",
    "/$defs/SubscriptionsListenResultMetaObject",
}
"""What the SDK's copies of the schemas lack, and those that are published by now have."""

NOT_THEIRS: Final = {"2025-11-25": set[str](), "2026-07-28": {"SubscriptionsListenResultResponse"}}
"""Types that only the published schemas have."""

MEMBERS: Final = {
    # Parameters of any message may have metadata; the published schema leaves it out here.
    "2025-11-25": {
        ("Params", "_meta"),
        ("Params1", "_meta"),
        ("Params2", "_meta"),
        ("Params3", "_meta"),
        # The attribute is called otherwise: `list` hides a builtin, `model_` is Pydantic's.
        ("CreateMessageRequestParams", "modelPreferences"),
        ("Tasks", "list"),
        ("Tasks1", "list"),
    },
    "2026-07-28": {("CreateMessageRequestParams", "modelPreferences")},
}
"""Members that are not the same in both."""

# Their member has the default that the schema names, and therefore refuses null.
_MODE: Final = ("ElicitRequestFormParams", "/mode", "ours")
VERDICTS: Final = {
    "2025-11-25": {
        # Its metadata is checked, see above.
        ("CancelTaskRequest", "/params/_meta", "theirs"),
        ("CancelTaskRequest", "/params/_meta/progressToken", "theirs"),
        ("ElicitationCompleteNotification", "/params/_meta", "theirs"),
        ("GetTaskPayloadRequest", "/params/_meta", "theirs"),
        ("GetTaskPayloadRequest", "/params/_meta/progressToken", "theirs"),
        ("GetTaskRequest", "/params/_meta", "theirs"),
        ("GetTaskRequest", "/params/_meta/progressToken", "theirs"),
        _MODE,
    },
    "2026-07-28": {_MODE},
}
"""Values that one of both accepts alone: by type and place, and which it is."""


class Surface(NamedTuple):
    """Both variants of a revision's types, and the values they accept."""

    revision: str
    theirs: dict[str, Any]
    ours: dict[str, Any]
    differing: set[tuple[str, str, str]]
    compared: int


@pytest.fixture(scope="module")
def surfaces(tmp_path_factory: pytest.TempPathFactory) -> list[Surface]:
    folder = tmp_path_factory.mktemp("python-sdk")
    for file in generated_once(prepare(settings_in(folder)).options).files:
        (folder / file.path).write_bytes(file.content)
    subjects = {revision: vectors_of(revision) for revision in REVISIONS}
    asked = (
        {
            "theirs": f"mcp_types.{NAMES['modules'][revision]}",
            "ours": NAMES["modules"][revision],
            "vectors": [(name, verdict.value) for name, verdict in found],
        }
        for revision, found in subjects.items()
    )
    ran = subprocess.run(
        [python_with("mcp-2"), PROGRAMS / "mcp2_surface.py"],
        input="".join(f"{json.dumps(question)}\n" for question in asked),
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    answers = map(json.loads, ran.stdout.splitlines())
    return [surface(*pair) for pair in zip(subjects.items(), answers, strict=True)]


def settings_in(folder: Path) -> Settings:
    """Return the configuration without text, and without patches that our pins have already."""
    shutil.copy(EXAMPLE / "mcp-gen.toml", folder / "pyproject.toml")
    (folder / "schema").mkdir()
    shutil.copy(EXAMPLE / "names.json", folder / "schema")
    found = load_settings(folder)
    needed = tuple(
        pending_patches(patches)
        for patches in found.patches or ()
        if isinstance(patches, GivenPatches)
    )
    return found._replace(schemas=None, docstrings=Docstrings.NONE, patches=needed)


def pending_patches(given: GivenPatches) -> GivenPatches:
    """Return patches without those that are done."""
    return given._replace(
        entries=tuple(entry for entry in given.entries if not is_done(given, entry))
    )


def is_done(given: GivenPatches, entry: Any) -> bool:
    """Return whether a revision's pin, with our patches, already has a patch."""
    if not given.revision:
        return False
    folder = schema_folder()
    schema = json.loads(read_snapshot(given.revision, folder))
    schema = patches.apply(schema, patches.load_patches(folder, given.revision), given.place)
    return patches.is_done(schema, entry)


def vectors_of(revision: str) -> list[tuple[str, Vector]]:
    """The vectors about types, each with what the SDK calls its type."""
    types: dict[str, str] = NAMES["types"][revision]
    return [
        (types.get(vector.subject.type, vector.subject.type), vector)
        for vector in vectors_once(revision).vectors
        if vector.subject.type
    ]


def surface(asked: tuple[str, list[tuple[str, Vector]]], answer: Any) -> Surface:
    revision, vectors = asked
    differing: set[tuple[str, str, str]] = set()
    verdicts = [row for row in zip(vectors, answer["verdicts"], strict=True) if row[1]]
    for (name, vector), (theirs, ours) in verdicts:
        if theirs != ours:
            differing.add((name, vector.pointer, "theirs" if theirs else "ours"))
    their_classes, our_classes = answer["classes"]
    return Surface(revision, their_classes, our_classes, differing, len(verdicts))


def test_patches_that_the_published_schemas_have_by_now_are_known(tmp_path: Path) -> None:
    settings_in(tmp_path)
    entries = [
        (patches, entry)
        for patches in load_settings(tmp_path).patches or ()
        if isinstance(patches, GivenPatches)
        for entry in patches.entries
    ]
    assert {entry["pointer"] for patch, entry in entries if is_done(patch, entry)} == DONE


def test_the_classes_are_the_same(surfaces: list[Surface]) -> None:
    for surface in surfaces:
        with tables.case(surface.revision):
            assert surface.ours.keys() - surface.theirs.keys() == NOT_THEIRS[surface.revision]
            assert surface.theirs.keys() <= surface.ours.keys()
            for name, found in surface.theirs.items():
                assert surface.ours[name]["open"] == found["open"], name


def test_the_members_are_the_same(surfaces: list[Surface]) -> None:
    for surface in surfaces:
        with tables.case(surface.revision):
            found = {
                (name, member)
                for name, theirs in surface.theirs.items()
                for member in theirs["members"].keys() | surface.ours[name]["members"].keys()
                if theirs["members"].get(member) != surface.ours[name]["members"].get(member)
            }
            assert found == MEMBERS[surface.revision]


def test_sdk_and_package_accept_same_values(surfaces: list[Surface]) -> None:
    for surface in surfaces:
        with tables.case(surface.revision):
            assert surface.compared > 4000
            assert surface.differing == VERDICTS[surface.revision]
