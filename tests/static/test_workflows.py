"""Workflows take actions by commit, ask for the least permissions, and end by themselves."""

import re
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from support.docs.pages import block_texts
from support.folders import ROOT
from support.tables import case

yaml: Any = import_module("yaml")  # comes without types

OURS: Final = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# Those that users copy, and the one of a new project.
FOR_USERS: Final = (
    *sorted((ROOT / "docs" / "workflows").glob("mcp-*.yml")),
    ROOT / "docs" / "monorepo.md",
)
SCAFFOLD: Final = ROOT / "templates" / "scaffold" / "ci.yml.jinja"
USES: Final = re.compile(r"uses: (?P<action>[^@\s]+)@(?P<commit>\S+)(?: # (?P<version>\S+))?$")


def text_of(path: Path) -> str:
    """Return the workflow in a file, or the one at the end of a page."""
    return block_texts(path.name, "yaml")[-1] if path.suffix == ".md" else path.read_text("utf-8")


def test_actions_are_pinned_to_the_same_commits_everywhere() -> None:
    versions: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for path in (*OURS, *FOR_USERS, SCAFFOLD):
        used = [line for line in text_of(path).splitlines() if " uses: " in line]
        with case(path.name):
            assert used
            for line in used:
                found = USES.search(line)
                assert found and re.fullmatch(r"[0-9a-f]{40}", found["commit"]), line
                assert re.fullmatch(r"v\d+\.\d+\.\d+", found["version"] or ""), line
                versions[found["action"]].add((found["commit"], found["version"]))
    assert {
        action: pins_of_action
        for action, pins_of_action in versions.items()
        if len(pins_of_action) > 1
    } == {}


def jobs(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text_of(path))["jobs"]
    return found


def test_each_job_says_what_it_may_do_and_for_how_long() -> None:
    for path in (*OURS, *FOR_USERS):
        text = text_of(path)
        with case(path.name):
            document = yaml.safe_load(text)
            assert document["permissions"] == {} and "group" in document["concurrency"]
            assert "secrets." not in text
        for name, job in jobs(path).items():
            with case(f"{path.name}: {name}"):
                assert "permissions" in job and 0 < job["timeout-minutes"] <= 60


def test_only_jobs_that_run_no_code_of_the_checkout_may_write() -> None:
    for path in (*OURS, *FOR_USERS):
        for name, job in jobs(path).items():
            if "write" not in job["permissions"].values():
                continue
            with case(f"{path.name}: {name}"):
                runs = " ".join(step.get("run", "") for step in job["steps"])
                actions = " ".join(step.get("uses", "") for step in job["steps"])
                assert "actions/checkout@" not in actions
                assert "make" not in runs and "python" not in runs


def test_make_words_of_workflows_exist_in_makefile() -> None:
    words = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for path in OURS:
        with case(path.name):
            run = [step.get("run", "") for job in jobs(path).values() for step in job["steps"]]
            used = set(re.findall(r"\bmake ([a-z-]+)", " ".join(run)))
            # `make site` is that of the site's builder.
            assert used <= words | {"site"}


def test_a_release_is_published_only_after_it_was_tried_and_attested() -> None:
    release = jobs(ROOT / ".github" / "workflows" / "release.yml")
    assert set(release["pypi"]["needs"]) == {"build", "try", "attest"}
    assert release["github"]["needs"] == "pypi"
    for name in ("attest", "pypi"):
        assert release[name]["if"] == "github.ref_type == 'tag' && github.event_name == 'push'"
    steps = (step.get("with", {}) for step in release["build"]["steps"])
    built = {named_step["name"] for named_step in steps if "name" in named_step}
    for name in ("pypi", "testpypi"):
        projects = release[name]["strategy"]["matrix"]["project"]
        assert built == {*projects, "assets"}
        # An index takes one publisher of a new project for each environment.
        assert release[name]["environment"]["name"] == f"{name}-${{{{ matrix.project }}}}"
