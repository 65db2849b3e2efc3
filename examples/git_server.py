"""Reads and changes git repositories on this machine, with the installed git.

    mcp-gen --revision all --with all --out examples/pkg    # the package that it imports
    python examples/git_server.py                           # over standard input and output
    python examples/git_server.py --http 8000               # at http://127.0.0.1:8000/mcp

--repository FOLDER, which may be repeated, restricts the server to repositories in these folders.
"""

import os
import subprocess
from argparse import ArgumentParser
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from pkg import ToolError
from pkg import v2026_07_28 as mcp
from pkg.v2026_07_28 import models as m

app = mcp.App("git", version="1.0.0")
allowed: list[Path] = []
COMMIT = "Commit: %H%nAuthor: %an <%ae>%nDate: %aI%nMessage: %B"

reading = app.tool(
    annotations=m.ToolAnnotations(read_only_hint=True, open_world_hint=False), structured=False
)
writing = app.tool(
    annotations=m.ToolAnnotations(destructive_hint=False, open_world_hint=False), structured=False
)
undoing = app.tool(
    annotations=m.ToolAnnotations(destructive_hint=True, open_world_hint=False), structured=False
)


def check_folder(folder: Path) -> Path:
    folder = folder.resolve()
    if allowed and not any(folder.is_relative_to(root) for root in allowed):
        raise ValueError("outside of the repositories that this server may use")
    return folder


Repository = Annotated[Path, AfterValidator(check_folder), Field(description="Its folder.")]
# git reads arguments that begin with a dash as options.
Name = Annotated[str, Field(pattern="^[^-]")]
Lines = Annotated[int, Field(ge=0, description="How many lines to show around each change.")]
Date = Annotated[str, Field(description="Such as 2024-01-15T14:30:25, Jan 15 2024, 2 weeks ago.")]


def git(repository: Path, command: str, *arguments: str) -> str:
    """Run git in a repository, and return its output."""
    # Without a ceiling, git also uses a repository around this folder.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(repository.parent)}
    process = subprocess.run(
        ["git", "-C", str(repository), command, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if process.returncode != 0:
        raise ToolError(f"git {command}: {process.stderr.strip() or process.stdout.strip()}")
    return process.stdout.strip("\n")


@reading
def git_status(repo_path: Repository) -> str:
    """Show changes in the working tree, and staged changes."""
    return "Status of the repository:\n" + git(repo_path, "status")


@reading
def git_diff_unstaged(repo_path: Repository, context_lines: Lines = 3) -> str:
    """Show unstaged changes of the working tree."""
    return "Changes not staged:\n" + git(repo_path, "diff", f"--unified={context_lines}")


@reading
def git_diff_staged(repo_path: Repository, context_lines: Lines = 3) -> str:
    """Show staged changes."""
    return "Changes staged:\n" + git(repo_path, "diff", "--cached", f"--unified={context_lines}")


@reading
def git_diff(repo_path: Repository, target: Name, context_lines: Lines = 3) -> str:
    """Compare the working tree with a branch or commit, or compare two: main..topic."""
    differences = git(repo_path, "diff", f"--unified={context_lines}", target, "--")
    return f"Differences from {target}:\n{differences}"


@writing
def git_commit(repo_path: Repository, message: str) -> str:
    """Commit staged changes."""
    git(repo_path, "commit", f"--message={message}")
    return f"Committed as {git(repo_path, 'rev-parse', 'HEAD')}"


@writing
def git_add(repo_path: Repository, files: Annotated[list[str], Field(min_length=1)]) -> str:
    """Stage the contents of files."""
    git(repo_path, "add", "--", *files)
    return "The files are staged"


@undoing
def git_reset(repo_path: Repository) -> str:
    """Unstage everything, and keep the files unchanged."""
    git(repo_path, "reset", "--quiet")
    return "Nothing is staged any more"


@reading
def git_log(
    repo_path: Repository,
    max_count: Annotated[int, Field(ge=1)] = 10,
    start_timestamp: Date | None = None,
    end_timestamp: Date | None = None,
) -> str:
    """Show the latest commits, or those between two dates."""
    arguments = [f"--max-count={max_count}", f"--format={COMMIT}"]
    arguments += [f"--since={start_timestamp}"] if start_timestamp else []
    arguments += [f"--until={end_timestamp}"] if end_timestamp else []
    return "History:\n" + git(repo_path, "log", *arguments)


@writing
def git_create_branch(
    repo_path: Repository, branch_name: Name, base_branch: Name | None = None
) -> str:
    """Create a branch from another branch, by default the current one."""
    base = base_branch or git(repo_path, "branch", "--show-current")
    git(repo_path, "branch", "--no-track", branch_name, base)
    return f"Created {branch_name} from {base}"


@writing
def git_checkout(repo_path: Repository, branch_name: Name) -> str:
    """Switch to a branch."""
    git(repo_path, "checkout", branch_name, "--")
    return f"Switched to {branch_name}"


@reading
def git_show(repo_path: Repository, revision: Name) -> str:
    """Show a commit: author, date, message and changes."""
    options = (f"--format={COMMIT}", "--first-parent")
    return git(repo_path, "show", *options, f"{revision}^{{commit}}", "--")


@reading
def git_branch(
    repo_path: Repository,
    branch_type: Literal["local", "remote", "all"] = "local",
    contains: Annotated[Name, Field(description="With this commit.")] | None = None,
    not_contains: Annotated[Name, Field(description="Without this commit.")] | None = None,
) -> str:
    """List branches."""
    arguments = {"local": ["--list"], "remote": ["--remotes"], "all": ["--all"]}[branch_type]
    arguments += [f"--contains={contains}"] if contains else []
    arguments += [f"--no-contains={not_contains}"] if not_contains else []
    return git(repo_path, "branch", *arguments)


if __name__ == "__main__":
    parser = ArgumentParser(description="let models read and change git repositories")
    parser.add_argument("--http", type=int, metavar="PORT", help="serve HTTP on this port")
    parser.add_argument(
        *("--repository", "-r"), action="append", type=Path, default=[], metavar="FOLDER"
    )
    options = parser.parse_args()
    allowed += [folder.resolve() for folder in options.repository]
    app.run("http", port=options.http) if options.http else app.run()
