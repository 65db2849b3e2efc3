"""Published schemas in a local clone of the specification's repository, read through `git`.

Only committed files count, not the working tree. Nothing is fetched: the owner must update the
clone. Only commands that read objects are used; none of them starts a program from the settings of
the clone.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.sources import upstream
from mcp_protogen.pipeline.sources.source import (
    PublishedFile,
    SourceListing,
    listing_of,
    revision_at,
)

_SECONDS = 60.0
_FILE_MODES = frozenset({"100644", "100755"})
# Variables from a hook of another repository, which would redirect git to that one.
_OF_ANOTHER_REPOSITORY = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)


@dataclass(frozen=True, slots=True)
class CloneSource:
    """One commit of a clone; `folder` is the name from the user, `git_dir` the folder for git."""

    folder: Path
    git_dir: Path
    commit: str
    kind: str = "clone"
    repository: str | None = None

    @property
    def name(self) -> str:
        """The folder as the user named it."""
        return str(self.folder)

    def listing(self) -> SourceListing:
        """Return all revisions with a schema in the commit."""
        listed = self._git("ls-tree", "-r", "-z", "--name-only", self.commit, "--", "schema/")
        paths = listed.decode("utf-8", "replace").split("\0")
        return listing_of([name for path in paths if (name := revision_at(path))], self.name)

    def read(self, path: str) -> PublishedFile | None:
        """Return the committed bytes of a file, with its last commit and day."""
        entry = self._git("ls-tree", "-z", self.commit, "--", path).decode("utf-8", "replace")
        if not entry:
            return None
        mode, _, blob = entry.partition("\t")[0].split(" ")
        place = f"{self.name}/{path}"
        if mode not in _FILE_MODES:
            raise upstream.unreadable(place, "it is not a file")
        if int(self._git("cat-file", "-s", blob)) > upstream.MAX_BYTES:
            raise upstream.unreadable(
                place, f"it is larger than {upstream.MAX_BYTES // 1024 // 1024} MiB"
            )
        commit, date = self._last_change(path)
        return PublishedFile(self._git("cat-file", "blob", blob), commit, date)

    def _last_change(self, path: str) -> tuple[str, str | None]:
        """Return the commit that last changed the file, and its day."""
        option = "--format=%H %cI %P"
        try:
            output = self._git("rev-list", "-1", option, self.commit, "--", path).decode()
            shallow = self._git("rev-parse", "--is-shallow-repository").strip() == b"true"
        except _GitError:  # a clone without older trees; the current commit is also right
            return self.commit, None
        commit, moment, *parents = output.splitlines()[-1].split(" ")
        # At the end of a shallow clone, git reports every file as new.
        return (self.commit, None) if shallow and not any(parents) else (commit, moment[:10])

    def _git(self, *arguments: str) -> bytes:
        return git(self.git_dir, self.name, *arguments)


def git_dir_of(folder: Path) -> Path | None:
    """Return the git folder of a clone, with a working tree or bare; None for other folders.

    The folders above are not searched: a plain folder in a checkout is not a clone.
    """
    if (folder / ".git").exists():
        return folder / ".git"
    if (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir():
        return folder
    return None


def open_clone(folder: Path, git_dir: Path, ref: str) -> CloneSource:
    """Return a clone at the commit that `ref` names; raise `ProblemError` (`unknown-ref`)."""
    place = str(folder)
    spec = f"{ref}^{{commit}}"
    try:
        commit = git(git_dir, place, "rev-parse", "--verify", "--end-of-options", spec)
    except _GitError:
        git(git_dir, place, "rev-parse", "--git-dir")  # raises for a folder without a clone
        hint = "name a branch, a tag or a commit that has been fetched"
        message = f"the clone has no commit {ref!r}"
        raise ProblemError(Problem("unknown-ref", message, place, hint=hint)) from None
    return CloneSource(folder, git_dir, commit.decode().strip())


def git(git_dir: Path, place: str, *arguments: str) -> bytes:
    """Return the output of a git command; raise `ProblemError` (`no-git`, `unreadable-source`)."""
    handed_down = {
        name: value for name, value in os.environ.items() if name not in _OF_ANOTHER_REPOSITORY
    }
    environment = {**handed_down, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
    # A partial clone fetches missing objects on first use, which a reader must not cause.
    command = ["git", "-c", "protocol.allow=never", f"--git-dir={git_dir}", *arguments]
    try:
        process = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        hint = "install git, or name a plain folder or a URL"
        message = "the program git, which reads clones, is not installed"
        raise ProblemError(Problem("no-git", message, place, hint=hint)) from None
    except subprocess.TimeoutExpired:
        raise upstream.unreadable(place, f"git took longer than {_SECONDS:.0f} seconds") from None
    if process.returncode:
        errors = " ".join(process.stderr.decode("utf-8", "replace").split())
        raise _GitError(*upstream.unreadable(place, f"git says: {errors:.300}").problems)
    return process.stdout


class _GitError(ProblemError):
    """Raised if git ended with an error."""
