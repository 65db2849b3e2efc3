"""The programs of the page about TypeScript pass tsc, and print the shown output."""

import re

import pytest
from support.docs.pages import block_texts
from support.tables import case
from support.targets.typescript import compile_project, complaints, project, run, write_program

pytestmark = pytest.mark.long

# Node's own, without its types.
CONSOLE = "declare const console: { log(...values: unknown[]): void };\n"


def test_programs_of_the_page_are_checked_and_run() -> None:
    programs = block_texts("targets-typescript.md", "typescript")
    assert len(programs) == 2
    for number, program in enumerate(programs):
        with case(number):
            name = write_program(project(), f"page_{number}.ts", CONSOLE + program)
            assert complaints(project(), name) == []
            (said,) = re.findall(r"console\.log\(.*\); // (.*)", program)
            assert run(compile_project(), name) == f"{said}\n"
