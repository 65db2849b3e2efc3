"""The folder of a user's templates: the version of the contract that it was written for."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from mcp_protogen.base.file_set import finish
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.package import GENERATOR

TEMPLATE_CONTRACT: Final = 2
"""The version of what templates get and what they have to print.

It rises when a template that was right would fail, or make a package that fails: when a template, a
variable, a member of a value, a filter or a macro goes or changes its meaning, and when a module
has to have more than before. What is only added leaves it as it is.
"""

STATEMENT: Final = "templates.toml"
"""The file in which a folder of templates says its contract."""


class Statement(NamedTuple):
    """What a folder of templates says of itself; one that says nothing is of the first contract.

    `exported` has the digest of each template as it was exported, by its name.
    """

    contract: int = 1
    exported: Mapping[str, str] = MappingProxyType({})


def read_statement(folder: Path) -> Statement:
    """Return what a folder of templates says of itself.

    Raise `ProblemError` (`template-contract`) if that cannot be read, or is another contract.
    """
    file = folder / STATEMENT
    finish(file)
    # A link to another place is no part of the folder.
    if not file.is_file() or not file.resolve().is_relative_to(folder.resolve()):
        return _require_contract(Statement(), folder)
    import tomllib  # most folders have no statement

    try:
        said = _statement(tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        hint = f"write: contract = {TEMPLATE_CONTRACT}; or export the templates again"
        problem = Problem(
            "template-contract", f"this cannot be read: {error}", str(file), hint=hint
        )
        raise ProblemError(problem) from error
    return _require_contract(said, file)


def _require_contract(said: Statement, place: Path) -> Statement:
    if said.contract != TEMPLATE_CONTRACT:
        raise ProblemError(_other_contract(said.contract, place))
    return said


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
    """Return the statement of a folder with exported templates, whose digests are given."""
    digests = "".join(f'"{name}" = "{digest}"\n' for name, digest in sorted(exported.items()))
    return (
        f"# Templates of mcp-gen: the version of what they get and have to print.\n"
        f"contract = {TEMPLATE_CONTRACT}\n\n"
        f"# What was exported, to tell it from what was edited since.\n"
        f"[exported]\n{digests}"
    ).encode()
