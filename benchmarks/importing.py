"""A program's cost before its first message: imports, and the first parse.

Each figure is one process. All of them run on the interpreter of the SDKs, so that both sides have
the same Python and the same Pydantic.
"""

from collections.abc import Iterator
from statistics import median

from .messages import CALL
from .places import REVISION, ROOT, environment, package, sdk_python
from .rows import Row
from .timing import command, interleave

TOPIC = "import"
ROUNDS = 15

_NOTHING = "pass"
_PACKAGE = "import mcp_revisions"
_FIRST_PARSE = (
    f"{_PACKAGE}; "
    f"mcp_revisions.load({REVISION!r}).methods.parse_request({CALL!r}, sender='client')"
)
_PYDANTIC = "import pydantic; pydantic.create_model('M', a=(int, ...))(a=1)"
_TYPES, _SDK = "import mcp_types.methods", "import mcp"


def rows(rounds: int) -> Iterator[Row]:
    """Compare the package alone with an empty program, and a first parse with the SDK's imports."""
    programs = (_NOTHING, _PACKAGE, _FIRST_PARSE, _PYDANTIC, _TYPES, _SDK)
    seen = environment(PYTHONPATH=str(package()))
    actions = {program: command([sdk_python(), "-c", program], ROOT, seen) for program in programs}
    taken = {program: median(times) for program, times in interleave(actions, rounds).items()}
    empty = taken[_NOTHING]
    yield Row(TOPIC, "import the package", taken[_PACKAGE], "python -c pass", empty, 2.00)
    first, floor = taken[_FIRST_PARSE], taken[_PYDANTIC] - empty
    what = "Pydantic with a single model, net of python"
    yield Row(TOPIC, what, floor, _TYPES, taken[_TYPES] - empty, None)
    for compared, goal in ((_TYPES, 0.34), (_SDK, 0.25)):
        what = f"import, load {REVISION}, first tools/call"
        net = taken[compared] - empty
        yield Row(TOPIC, f"{what}, net of python", first - empty, compared, net, goal, floor=floor)
        yield Row(TOPIC, f"{what}, whole process", first, compared, taken[compared], None)
