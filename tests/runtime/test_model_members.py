"""Signatures and descriptions of models, as `help()`, editors and notebooks ask for them."""

import ast
import inspect
import pydoc
import subprocess
import sys
from collections.abc import Iterator
from inspect import Parameter
from typing import Any, Literal

import mcp_revisions
import pytest
from mcp_revisions import WireModel
from mcp_revisions import v2026_07_28 as mcp
from pydantic import Field
from support.folders import GENERATED
from support.generated.golden_package import PACKAGE
from support.revisions import REVISIONS
from support.tables import case
from support.typed_clients.contracts import FORECAST, module_of

m = mcp.models


class Described(m.Tool):
    name: str
    """The name, as it is shown."""
    title: str | None = Field(None, description="Said by a field.")
    """Not this."""


class Outer:
    class Inner(m.Tool):
        depth: int
        """How deep it is."""


class WithInit(m.Tool):
    def __init__(self, first: str, **members: Any) -> None:
        super().__init__(name=first, **members)


def models_of(revision: str) -> Iterator[Any]:
    module = mcp_revisions.load(revision).models
    for name in module.__all__:
        model = getattr(module, name)
        if isinstance(model, type) and issubclass(model, WireModel):
            yield model


def test_signature_of_every_model_has_its_members_as_keywords() -> None:
    for revision in REVISIONS:
        for model in models_of(revision):
            for built in (False, True):
                with case((revision, model.__name__, built)):
                    if built:
                        model.model_rebuild(force=True)
                    parameters = inspect.signature(model).parameters
                    assert parameters.keys() == model.model_fields.keys()
                    assert {parameter.kind for parameter in parameters.values()} <= {
                        Parameter.KEYWORD_ONLY
                    }
                    for name, field in model.model_fields.items():
                        needed = parameters[name].default is Parameter.empty
                        assert needed == field.is_required()
                        assert parameters[name].annotation == field.annotation


def test_signature_shows_types_and_defaults() -> None:
    parameters = inspect.signature(m.TextContent).parameters
    assert parameters["type"].annotation == Literal["text"]
    assert parameters["type"].default == "text"
    assert parameters["text"].annotation is str
    assert parameters["annotations"].default is None
    # An object of usual values is made for each call.
    assert inspect.signature(m.CallToolRequestParams).parameters["meta"].default is ...
    assert "Tool(*, input_schema: dict[str, typing.Any], name: str" in pydoc.render_doc(m.Tool)
    with pytest.raises(AttributeError):
        _ = m.TextContent(text="").__signature__


def test_description_of_every_member_is_its_docstring() -> None:
    shown = 0
    for revision in REVISIONS:
        for model in models_of(revision):
            with case((revision, model.__name__)):
                source = ast.parse(inspect.getsource(model)).body[0]
                assert isinstance(source, ast.ClassDef)
                own = [node for node in source.body if isinstance(node, ast.AnnAssign)]
                for node in own:
                    text = next(iter(source.body[source.body.index(node) + 1 :]), None)
                    name = ast.unparse(node.target)
                    if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                        wanted = inspect.cleandoc(str(text.value.value)).strip()
                        assert model.model_fields[name].description == wanted
                        shown += 1
    assert shown > 1_000


def test_subclass_has_the_texts_of_its_base_and_its_own() -> None:
    inherited = m.BlobResourceContents.model_fields
    assert inherited["uri"].description and inherited["blob"].description
    assert Described.model_fields["name"].description == "The name, as it is shown."
    assert Described.model_fields["title"].description == "Said by a field."
    assert Described.model_fields["description"].description == (
        m.Tool.model_fields["description"].description
    )
    assert module_of(FORECAST).Forecast.model_fields["high"].description is None  # it has no file


def test_import_of_models_makes_no_signatures_and_texts() -> None:
    maker = "mcp_protogen.runtime.core.models.members"
    code = (
        f"import sys; import {PACKAGE.name}.v2026_07_28.models as m\n"
        f"m.Tool(name='', input_schema={{}})\nassert '{maker}' not in sys.modules\n"
        f"m.Tool.model_fields\nassert '{maker}' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(GENERATED)}, check=True)


def test_help_for_one_model_leaves_the_signatures_of_the_others() -> None:
    code = (
        f"import inspect, pydoc; import {PACKAGE.name}.v2026_07_28.models as m\n"
        "from mcp_revisions import WireModel\n"
        "for show in (pydoc.render_doc, inspect.signature, lambda cls: cls.model_rebuild()):\n"
        "    show(m.Tool); show(WireModel)\n"
        "    assert 'name' in inspect.signature(m.Tool).parameters\n"
        "    assert not inspect.signature(WireModel).parameters\n"
    )
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(GENERATED)}, check=True)


def test_subclass_inside_a_class_or_function_has_its_texts() -> None:
    class Local(m.Tool):
        size: int
        """How large it is."""

    assert Outer.Inner.model_fields["depth"].description == "How deep it is."
    assert Local.model_fields["size"].description == "How large it is."


def test_subclass_with_its_own_init_has_that_signature() -> None:
    assert [*inspect.signature(WithInit).parameters] == ["first", "members"]
    assert WithInit("a", input_schema={}).name == "a"


def test_descriptions_that_were_asked_for_change_no_schema() -> None:
    class Before(m.Tool):
        pass

    schema = Before.model_json_schema()
    assert m.Tool.model_fields["name"].description

    class After(m.Tool):
        pass

    assert After.model_json_schema()["properties"] == schema["properties"]
