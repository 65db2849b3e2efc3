"""The docstrings of generated methods."""

import inspect
from typing import Any

from support.tables import case
from support.typed_clients.contracts import Json, module_of, tool


def test_docstring_begins_with_the_title_the_description_or_the_name() -> None:
    rows: tuple[tuple[Json, str], ...] = (
        ({}, "Call the tool look."),
        ({"title": "Look"}, "Look"),
        ({"description": " Look around. "}, "Look around."),
        ({"title": "Look", "description": "Look around."}, "Look.\n\nLook around."),
        ({"title": "", "description": "  "}, "Call the tool look."),
    )
    for members, text in rows:
        with case(members):
            module: Any = module_of(tool(**members))
            found = inspect.getdoc(module.WeatherClient.look)
            assert found is not None and found.startswith(text)
            # The other class has the short signature.
            found = inspect.getdoc(module.SyncWeatherClient.look)
            assert found == text.removeprefix("Look.\n\n")
