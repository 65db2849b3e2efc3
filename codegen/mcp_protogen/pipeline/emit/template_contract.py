"""The templates that users may replace: their names, output and variables.

The contract has a version, `inputs.own_templates.TEMPLATE_CONTRACT`. docs/templates.md is written
from this module, and tests compare the templates with it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from mcp_protogen.base.problems import Problem, did_you_mean
from mcp_protogen.pipeline.emit.template_contexts import (
    AppsContext,
    ExtensionContext,
    ExtensionModelsContext,
    ExtensionsContext,
    Messages,
    ModelsContext,
    ModelsPackageContext,
    PackageContext,
    RevisionContext,
    SharedContext,
    TranslationContext,
)

Context = TypeVar("Context", bound=Mapping[str, object])


@dataclass(frozen=True, slots=True)
class Template(Generic[Context]):
    """A template: its name, its output, and the type of its variables."""

    name: str
    prints: str
    context: type[Context]


@dataclass(frozen=True, slots=True)
class Macros:
    """A template with macros for others: the output of each, by its signature.

    They may use variables of `context`: other templates import them `with context`.
    """

    name: str
    prints: str
    macros: Mapping[str, str]
    context: type[Mapping[str, object]] | None = None


APP = Template("app.py.jinja", "`app.py` of a revision: its `App`", RevisionContext)
CAPABILITIES = Template(
    "capabilities.py.jinja",
    "`capabilities.py` of a revision: every capability, requirements, and `check`",
    RevisionContext,
)
CLIENT = Template("client.py.jinja", "`client.py` of a revision: its `Client`", RevisionContext)
METHODS = Template(
    "methods.py.jinja",
    "`methods.py` of a revision: methods with senders and results, errors, and `TABLE`",
    RevisionContext,
)
REVISION = Template(
    "revision.py.jinja",
    "`__init__.py` of a revision: its modules, and its classes on first use",
    RevisionContext,
)
SERVER = Template(
    "server.py.jinja", "`server.py` of a revision: its `Server` and `Session`", RevisionContext
)
ALL_MODELS = Template(
    "all_models.py.jinja",
    "`models/__init__.py` of a revision: all types, loaded on first use",
    ModelsPackageContext,
)
MODELS = Template(
    "models.py.jinja",
    "a module of models of a revision or an extension: a class per type, an alias per union",
    ModelsContext,
)
EXTENSION = Template(
    "extension.py.jinja",
    "`__init__.py` of an extension: its modules, and its classes on first use",
    ExtensionContext,
)
EXTENSION_CAPABILITIES = Template(
    "extension_capabilities.py.jinja",
    "`capabilities.py` of an extension: its declarations and requirements",
    ExtensionContext,
)
EXTENSION_CLIENT = Template(
    "extension_client.py.jinja",
    "`client.py` of an extension: the class that comes before `Client` in the bases of a client",
    ExtensionContext,
)
EXTENSION_METHODS = Template(
    "extension_methods.py.jinja",
    "`methods.py` of an extension: additions to methods and errors, and `EXTENSION`",
    ExtensionContext,
)
EXTENSION_SERVER = Template(
    "extension_server.py.jinja",
    "`server.py` of an extension: the classes that come before `Server` and beside `Session`",
    ExtensionContext,
)
EXTENSION_MODELS = Template(
    "extension_models.py.jinja",
    "`models/__init__.py` of an extension: its types and those of the revision in its methods",
    ExtensionModelsContext,
)
EXTENSIONS = Template(
    "extensions.py.jinja", "`ext/__init__.py` of a revision: a docstring", ExtensionsContext
)
BRIDGE = Template("bridge.py.jinja", "`bridge.py`: the `Bridge` of the package", SharedContext)
TRANSLATIONS = Template(
    "translate.py.jinja", "`translate/__init__.py`: the function `translate`", SharedContext
)
ADAPTERS = Template(
    "adapters.py.jinja",
    "`translate/adapters.py`: adapters between sides of different revisions",
    SharedContext,
)
TRANSLATION = Template(
    "translation.py.jinja",
    "a module for each step to a revision, or a version: the tables `UP` and `DOWN`",
    TranslationContext,
)
APPS = Template(
    "apps.py.jinja", "`app.py` of the package: `PackageApp`, the base of each `App`", AppsContext
)
PACKAGE = Template(
    "package.py.jinja",
    "`__init__.py` of the package: `REVISIONS`, `load`, and all other exports",
    PackageContext,
)

TEMPLATES: tuple[Template[Any], ...] = (
    *(PACKAGE, APPS, BRIDGE, TRANSLATIONS, ADAPTERS, TRANSLATION),
    *(REVISION, APP, CAPABILITIES, CLIENT, METHODS, SERVER, ALL_MODELS, MODELS),
    *(EXTENSIONS, EXTENSION, EXTENSION_CAPABILITIES, EXTENSION_CLIENT, EXTENSION_METHODS),
    *(EXTENSION_SERVER, EXTENSION_MODELS),
)
"""Every template of a module: those of the package, of a revision, of an extension."""

MACROS = (
    Macros(
        "_macros.jinja",
        "the beginning of each module",
        {'head(summary, terms="")': "The docstring of a module, with a further paragraph."},
    ),
    Macros(
        "_capabilities.jinja",
        "the capabilities of a revision or an extension",
        {"declarable()": "A constant for each capability, `CAPABILITIES` and `REQUIREMENTS`."},
        Messages,
    ),
    Macros(
        "_methods.jinja",
        "the entries of a method table",
        {
            "entries(embedded=true)": "All methods, tables and errors; with questions in results.",
            "table(methods, kind)": "The mapping of the methods of one kind, by wire name.",
        },
        Messages,
    ),
    Macros(
        "_stubs.jinja",
        "the methods of clients, servers and sessions",
        {
            "send(method)": "The coroutine that sends a message.",
            "iterate(method)": "The iterator over all pages of a list, if the method has pages.",
            "follow(method, carried)": "The opener of a stream with the notifications `carried`.",
            "handle(method, session)": "The coroutine to override for an incoming message.",
            "handlers(name, spec, methods, kind)": "The table of such coroutines of one kind.",
            "ask(method)": "The coroutine that asks the user for a value of a type.",
            "imports(needed, runtime)": "The imports of names by module.",
            "made_params(call)": "The statements that make params from the members of a call.",
            'parameters(call, own, options="**options: Unpack[CallOptions]")': (
                "The parameters of a call, with some of its own."
            ),
            "readings(method, call)": "The overloads of a tool call, by the type of its result.",
        },
        Messages,
    ),
)
"""Every template of macros."""

NAMES: Mapping[str, str] = {
    **{template.name: template.prints for template in TEMPLATES},
    **{macros.name: macros.prints for macros in MACROS},
}
"""The output of each built-in template, by name."""


def unknown_name(name: str, place: str = "") -> Problem:
    """Return the problem of an unknown name of a template."""
    hint = did_you_mean(name, NAMES, "mcp-gen templates lists them")
    return Problem("unknown-template", f"there is no template {name!r:.80}", place, hint=hint)


def idle(folder: Path) -> Iterator[Problem]:
    """Yield a problem for each template of the user without effect: no other template names it."""
    texts = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(folder.rglob("*.jinja"))
        if path.is_file() and not path.is_symlink()
    }
    for name in texts.keys() - NAMES.keys():
        if not any(name in text for other_name, text in texts.items() if other_name != name):
            yield unknown_name(name, str(folder / name))
