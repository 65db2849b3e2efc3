"""The programs of the page about TypeScript are right in the eyes of tsc, and print what they say."""

import re

import pytest
from support.docs.pages import page
from support.tables import case
from support.targets.typescript import complaints, project, run, written

pytestmark = pytest.mark.long

# Node's own, without its types.
CONSOLE = "declare const console: { log(...values: unknown[]): void };\n"


def test_programs_of_the_page_are_checked_and_run() -> None:
    programs = re.findall(r"```typescript\n(.*?)```", page("targets-typescript.md"), re.DOTALL)
    assert len(programs) == 2
    for number, program in enumerate(programs):
        with case(number):
            name = written(project(), f"page_{number}.ts", CONSOLE + program)
            assert complaints(project(), name) == []
            (said,) = re.findall(r"console\.log\(.*\); // (.*)", program)
            assert run(project(), name) == f"{said}\n"
