"""Reports about built-in templates, and the export of copies to edit."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from mcp_protogen.base.canonical import sha256
from mcp_protogen.base.file_set import write_files
from mcp_protogen.base.printable import pluralize
from mcp_protogen.base.problems import Problem, ProblemError, raise_errors, raising
from mcp_protogen.base.resources import templates_folder
from mcp_protogen.pipeline.emit.template_contract import NAMES, unknown_name
from mcp_protogen.pipeline.inputs.own_templates import (
    STATEMENT,
    TEMPLATE_CONTRACT,
    Statement,
    read_statement,
    statement_content,
)
from mcp_protogen.pipeline.reports.report import Action, FileChange, RunReport, RunStatus


def catalogue() -> RunReport:
    """Report the templates that users may replace, and their output."""
    width = max(map(len, NAMES))
    heading = f"{'template':<{width}}  prints (contract {TEMPLATE_CONTRACT})"
    plain = {name: prints.replace("`", "") for name, prints in NAMES.items()}
    lines = (f"{name:<{width}}  {prints}" for name, prints in plain.items())
    rows = tuple({"template": name, "prints": prints} for name, prints in plain.items())
    return RunReport("templates", RunStatus.FINE, (heading, *lines), templates=rows)


def export(names: Collection[str], out: Path, *, force: bool = False) -> RunReport:
    """Write built-in templates into a folder, all or none; without `names`, every template.

    A template there that was edited, or that was not exported, is replaced only with `force`. Raise
    `ProblemError`: `unknown-template`, `template-contract`, `edited-file`, `foreign-file`,
    `cannot-write`.
    """
    raise_errors(unknown_name(name) for name in names if name not in NAMES)
    if out.exists() and not out.is_dir():
        message = "this is not a folder"
        raise ProblemError(Problem("not-a-folder", message, str(out), hint="name another one"))
    # A new folder has no statement yet.
    empty = not out.is_dir() or not any(out.iterdir())
    before = Statement(TEMPLATE_CONTRACT) if empty else read_statement(out)
    built_in = templates_folder() / "package"
    chosen = (name for name in NAMES if name in names or not names)
    contents = {name: (built_in / name).read_bytes() for name in chosen}
    _refuse_obstacles(contents, out, before.exported, force=force)
    digests = {**before.exported, **{name: sha256(contents[name]) for name in contents}}
    statement = statement_content(digests)
    changed = {
        name: content
        for name, content in {**contents, STATEMENT: statement}.items()
        if _read_if_file(out / name) != content
    }
    changes = tuple(
        FileChange(name, Action.CHANGE if (out / name).exists() else Action.CREATE)
        for name in changed
    )
    files = {out / name: content for name, content in changed.items()}
    write_files(files, out / STATEMENT, hint="name a folder in which you may write")
    summary = f"{out}: {pluralize(len(changes), 'file')} written, contract {TEMPLATE_CONTRACT}"
    return RunReport("templates export", RunStatus.FINE, summary, str(out), files=changes)


def _read_if_file(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() and not path.is_symlink() else None


@raising
def _refuse_obstacles(
    contents: Mapping[str, bytes], out: Path, exported: Mapping[str, str], *, force: bool
) -> Iterator[Problem]:
    """Raise `ProblemError` for each file that must not be overwritten."""
    for name, content in contents.items():
        path = out / name
        if path.is_symlink() or (path.exists() and not path.is_file()):
            message = "a link or a folder is in the place of this template"
            yield Problem("foreign-file", message, str(path), hint="move it away")
            continue
        found = _read_if_file(path)
        if force or found in (None, content) or sha256(found or b"") == exported.get(name):
            continue
        message = "this template was edited by hand, or was not exported"
        hint = "move it away, name the others, or overwrite it with --force"
        yield Problem("edited-file", message, str(path), hint=hint)
