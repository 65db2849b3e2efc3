"""What a docstring says to clients: of a function as a whole, and of each argument."""

from typing import Annotated, Any

from mcp_protogen.runtime.toolkit.docstrings import docstring_of
from pydantic import Field
from support.revisions import OLD
from support.tables import case
from support.toolkit.kits import answers, kit, listed_tools, prompt, resource, tool

GOOGLE = """Forecast the weather.

The forecast is for the next days.

Args:
    place: Name of a town.
    days (int, optional): How many days,
        today included:

        - at least one
    unit (Literal["C", "F"]): Celsius
    or Fahrenheit.

Returns:
    One line for each day.

Raises:
    ToolError: If there is no forecast.
"""
NUMPY = """Forecast the weather.

Parameters
----------
place : str
    Name of a town.
days, hours : int, default 3
    How many days,
    or hours.
unit
    Celsius
    or Fahrenheit.

Returns
-------
str
    One line for each day.
"""
SPHINX = """Forecast the weather.

:param place: Name of a town.
:type place: str
:param int days: How many days,
    today included.
:param dict[str, int] unit: Celsius
:returns: One line for each day.
:raises ToolError: If there is no forecast.
"""


def document(text: str | None) -> Any:
    def function() -> None: ...

    function.__doc__ = text
    return docstring_of(function)


def test_the_three_styles_describe_arguments_and_the_rest_is_the_description() -> None:
    rest = GOOGLE[GOOGLE.index("Returns:") :].strip()
    for text, description, parameters in [
        (
            GOOGLE,
            f"Forecast the weather.\n\nThe forecast is for the next days.\n\n{rest}",
            {
                "place": "Name of a town.",
                "days": "How many days,\ntoday included:\n\n- at least one",
                "unit": "Celsius\nor Fahrenheit.",
            },
        ),
        (
            NUMPY,
            "Forecast the weather.\n\nReturns\n-------\nstr\n    One line for each day.",
            {
                "place": "Name of a town.",
                "days": "How many days,\nor hours.",
                "hours": "How many days,\nor hours.",
                "unit": "Celsius\nor Fahrenheit.",
            },
        ),
        (
            SPHINX,
            "Forecast the weather.\n\n:returns: One line for each day.\n"
            ":raises ToolError: If there is no forecast.",
            {
                "place": "Name of a town.",
                "days": "How many days,\ntoday included.",
                "unit": "Celsius",
            },
        ),
        ("\nArgs:\n    x: One.\n", None, {"x": "One."}),
        (
            "A.\n\nParameters\n----------\nx : int\n    One.\n\nThe rest.",
            "A.\n\nThe rest.",
            {"x": "One."},
        ),
        (
            "A.\n\nParameters:\n  **more: All.\nKeyword Args:\n  y: Two.",
            "A.",
            {"more": "All.", "y": "Two."},
        ),
    ]:
        with case(text):
            assert document(text) == (description, parameters)


def test_apparent_section_stays_in_place() -> None:
    for text in [
        None,
        "",
        "Take args: all of them.",
        "Run a command.\n\nArguments:\n    are given as they are",
        "Args:\nThere are none.",
        "Run it.\n\n    Args:\n        x: inside an example\n\nThat is all.",
        "Parameters\nare many.",
        "See :param: in the manual.",
    ]:
        with case(text):
            assert document(text) == (text or None, {})


DESCRIBED = {
    "place": "Name of a town.",
    "days": "Explicit.",
    "unit": "From the default.",
    "hours": None,
}


def test_tools_and_prompts_are_described_so_and_a_field_comes_first() -> None:
    @prompt
    @tool
    def forecast(
        self: object,
        place: str,
        days: Annotated[str, Field(description="Explicit.")] = "",
        unit: str = Field("C", description="From the default."),
        hours: str = "",
    ) -> str:
        """Forecast the weather.

        Args:
            self: Not for clients.
            place: Name of a town.
            days: Not this.
            unit: Nor this.
            other: Of no argument.
        """
        return place

    server = kit(forecast=forecast)()
    listed = listed_tools(server)["forecast"]
    assert listed["description"] == "Forecast the weather."
    properties = listed["inputSchema"]["properties"]
    assert {
        name: property_.get("description") for name, property_ in properties.items()
    } == DESCRIBED
    ((again,),) = (answer["prompts"] for answer in answers(server, OLD, ("prompts/list", {})))
    assert again["description"] == "Forecast the weather."
    assert {
        argument["name"]: argument.get("description") for argument in again["arguments"]
    } == DESCRIBED


def test_where_arguments_have_no_description_the_docstring_stays_whole() -> None:
    schema: Any = {"type": "object", "properties": {"x": {}}}

    @tool(input_schema=schema)
    @resource("a:{x}")
    def take(self: object, x: str) -> str:
        """Take it.

        Args:
            x: What is taken.
        """
        return x

    asked: list[Any] = [("tools/list", {}), ("resources/templates/list", {})]
    tools, templates = answers(kit(take=take)(), OLD, *asked)
    for (listed,) in (tools["tools"], templates["resourceTemplates"]):
        assert listed["description"] == "Take it.\n\nArgs:\n    x: What is taken."
    assert tools["tools"][0]["inputSchema"] == schema
