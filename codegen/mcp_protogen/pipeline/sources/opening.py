"""The source that the user names with --source."""

from collections.abc import Collection
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.sources.clone_source import git_dir_of, open_clone
from mcp_protogen.pipeline.sources.folder_source import FolderSource
from mcp_protogen.pipeline.sources.github_source import github_source
from mcp_protogen.pipeline.sources.site_source import SiteSource
from mcp_protogen.pipeline.sources.source import SchemaSource
from mcp_protogen.pipeline.sources.upstream import without_secrets

_LAYOUT = "schema/<revision>/schema.json"


def open_source(
    text: str, ref: str | None, cache: Path | None, paths: Collection[str] = ()
) -> SchemaSource:
    """Return the source called `text`: a URL, a clone or a folder; nothing is read yet.

    `ref` is for sources with commits. A folder must have the layout of the specification's
    repository, or one of the files at `paths`, for the layouts of extensions. Raise `ProblemError`:
    `not-a-source`, `unknown-ref`, `no-git`, `conflicting-options`.
    """
    place = without_secrets(text)
    try:
        parts = urlsplit(text if "://" in text else "")
    except ValueError:
        raise ProblemError(Problem("not-a-source", "this is not a valid URL", place)) from None
    scheme = parts.scheme
    if scheme in {"http", "https"}:
        github = github_source(text, ref, cache)
        if github is not None:
            return github
        _refuse_ref(place, ref)
        return SiteSource(text, cache)
    if scheme not in {"", "file"}:
        hint = "clone it, and name the clone" if scheme in {"git", "ssh"} else "use http or https"
        message = f"the scheme {scheme} is not supported"
        raise ProblemError(Problem("not-a-source", message, place, hint=hint))
    if parts.netloc not in {"", "localhost"}:
        message = "a file URL cannot name a host"
        raise ProblemError(Problem("not-a-source", message, place, hint="write file:///path"))
    return _local(Path(unquote(parts.path)) if scheme else Path(text), ref, paths)


def _local(folder: Path, ref: str | None, paths: Collection[str]) -> SchemaSource:
    if not folder.is_dir():
        there = "this is a file" if folder.exists() else "this folder does not exist"
        hint = f"name a folder or a clone that has {_layout(paths)}, or a URL above such files"
        raise ProblemError(Problem("not-a-source", there, str(folder), hint=hint))
    git_dir = git_dir_of(folder)
    if git_dir is not None:
        return open_clone(folder, git_dir, ref or "HEAD")
    _refuse_ref(str(folder), ref)
    if not any((folder / path).exists() for path in ("schema", *paths)):
        message = "this is neither a clone nor a folder with published schemas"
        hint = f"it must contain {_layout(paths)}"
        raise ProblemError(Problem("not-a-source", message, str(folder), hint=hint))
    return FolderSource(folder)


def _layout(paths: Collection[str]) -> str:
    return " or ".join(paths) or _LAYOUT


def _refuse_ref(place: str, ref: str | None) -> None:
    if ref is not None:
        message = "--ref is for clones and for repositories on GitHub; this source has no commits"
        raise ProblemError(Problem("conflicting-options", message, place))
