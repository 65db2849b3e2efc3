"""The user's folder of templates, and the version of its contract."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from mcp_protogen.base.file_set import finish
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.package import GENERATOR

TEMPLATE_CONTRACT: Final = 2
"""The version of the contract: the variables of templates, and the required output.

It rises when a valid template would fail, or make a package that fails: when a template, a
variable, a member of a value, a filter or a macro is removed or changes its meaning, and when a
module needs more content. Additions do not raise it.
"""

STATEMENT: Final = "templates.toml"
"""The file with the contract of a folder of templates."""


class Statement(NamedTuple):
    """The statement of a folder of templates; without one, it has the first contract.

    `exported` has the digests of the exported templates, by name.
    """

    contract: int = 1
    exported: Mapping[str, str] = MappingProxyType({})


def read_statement(folder: Path) -> Statement:
    """Return the statement of a folder of templates.

    Raise `ProblemError` (`template-contract`) if it is unreadable, or of another contract.
    """
    file = folder / STATEMENT
    finish(file)
    # A link out of the folder does not count.
    if not file.is_file() or not file.resolve().is_relative_to(folder.resolve()):
        return _require_contract(Statement(), folder)
    import tomllib  # most folders have no statement

    try:
        statement = _statement(tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        hint = f"write: contract = {TEMPLATE_CONTRACT}; or export the templates again"
        problem = Problem(
            "template-contract", f"this cannot be read: {error}", str(file), hint=hint
        )
        raise ProblemError(problem) from error
    return _require_contract(statement, file)


def _require_contract(statement: Statement, place: Path) -> Statement:
    if statement.contract != TEMPLATE_CONTRACT:
        raise ProblemError(_other_contract(statement.contract, place))
    return statement


def _statement(document: dict[str, Any]) -> Statement:
    contract: object = document.get("contract")
    exported: object = document.get("exported", {})
    if not isinstance(contract, int) or isinstance(contract, bool):
        raise ValueError("contract is not a whole number")
    if not is_object(exported):
        raise ValueError("exported is not a table of digests")
    return Statement(contract, exported)


def _other_contract(contract: int, file: Path) -> Problem:
    message = f"these templates are for contract {contract}; {GENERATOR} has {TEMPLATE_CONTRACT}"
    hint = "use a later mcp-gen, or export its templates into another folder and edit those"
    if contract < TEMPLATE_CONTRACT:
        hint = "docs/templates.md says what to change; then write the new number here"
    return Problem("template-contract", message, str(file), hint=hint)


def statement_content(exported: Mapping[str, str]) -> bytes:
    """Return the statement of a folder with the digests of exported templates."""
    digests = "".join(f'"{name}" = "{digest}"\n' for name, digest in sorted(exported.items()))
    return (
        f"# Templates of mcp-gen: the version of their contract.\n"
        f"contract = {TEMPLATE_CONTRACT}\n\n"
        f"# Digests of the exported templates, to detect edits.\n"
        f"[exported]\n{digests}"
    ).encode()
