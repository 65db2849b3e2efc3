"""The lines of values in TOML."""

from mcp_protogen.base.toml_lines import line_of
from support.tables import case

WEATHER = "/tool/mcp-gen/clients/weather"
LAYOUTS = {
    "a table": ('[tool.mcp-gen.clients.weather]\nserver = "x"\n', 1),
    "a table after others": (
        '[tool.mcp-gen]\nout = "pkg"\n\n# The weather.\n[tool.mcp-gen.clients.weather]\na = 1\n',
        5,
    ),
    "a quoted name": ("[tool.'mcp-gen'.clients]\n\"weather\" = { a = 1 }\n", 2),
    "dotted keys": (
        '[tool]\nmcp-gen.clients.maps.a = 1\nmcp-gen.clients.weather.server = "x"\n',
        3,
    ),
    "an array on several lines": (
        '[tool.mcp-gen.clients]\nmaps = [\n  1,\n]\nweather = [\n  1,\n\n  2,\n]\nlast = "x"\n',
        5,
    ),
    "the same text in a string": (
        'a = """\n[tool.mcp-gen.clients.weather]\n"""\n[tool.mcp-gen.clients.weather]\n',
        4,
    ),
    "line ends of Windows": ("a = 1\r\n[tool.mcp-gen.clients.weather]\r\nb = 1\r\n", 2),
    "no last line end": ("a = 1\n[tool.mcp-gen.clients.weather]", 2),
    "nothing": ("[tool.mcp-gen.clients.maps]\n", 0),
    "not even TOML": ("[tool.mcp-gen.clients.maps\n", 0),
}


def test_a_value_begins_on_the_line_of_its_key() -> None:
    for name, (text, line) in LAYOUTS.items():
        with case(name):
            assert line_of(text, WEATHER) == line


def test_a_pointer_may_lead_into_an_array() -> None:
    text = '[tool.mcp-gen.patches]\n"*" = [\n  { pointer = "/a" },\n  { pointer = "/b" },\n]\n'
    assert line_of(text, "/tool/mcp-gen/patches/*/1/pointer") == 2
