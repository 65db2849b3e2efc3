"""Pure functions of the generator, memoised for a whole run.

Their results depend only on their arguments, and on files that no test changes.
"""

import os
from collections.abc import Callable
from functools import wraps
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.derive import revision
from mcp_protogen.pipeline.emit import formatting, models
from mcp_protogen.pipeline.inputs import facts, inputs

_PURE: Final = (
    (revision, "derive_revision"),
    # Packages share the types that they have in common.
    (models, "TypeDefiner"),
    (inputs, "_code_digest"),
    (inputs, "_runtime_digest"),
)
_kept: Final[dict[str, Any]] = {}


def remember() -> None:
    """Replace the functions before other modules import them."""
    for owner, name in _PURE:
        setattr(owner, name, _memoise(getattr(owner, name)))
    formatting.format_module = _share(formatting.format_module)
    facts.load = _keep_ours(facts.load)


def _keep_ours(load: Callable[..., facts.Facts]) -> Callable[..., facts.Facts]:
    """Keep what is read of our schema folder; tests change copies of it."""
    ours, keep = schema_folder(), _memoise(load)

    @wraps(load)
    def load_facts(folder: Path, revision: str) -> facts.Facts:
        return (keep if folder == ours else load)(folder, revision)

    return load_facts


def _memoise(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        name = _name(function.__qualname__, arguments, options)
        if name not in _kept:
            _kept[name] = function(*arguments, **options)
        return _kept[name]

    return wrapper


def _share(function: Callable[..., str]) -> Callable[..., str]:
    """Share the texts of a function between all processes of a run."""

    @wraps(function)
    def wrapper(*arguments: Any, **options: Any) -> str:
        file = Path(os.environ["MADE_ONCE"], _name(function.__qualname__, arguments, options))
        if not file.exists():
            made = file.with_suffix(f".{os.getpid()}")
            made.write_text(function(*arguments, **options), encoding="utf-8", newline="")
            made.replace(file)
        with file.open(encoding="utf-8", newline="") as text:
            return text.read()

    return wrapper


def _name(*said: object) -> str:
    return sha256(str(said).encode("utf-8", "surrogatepass")).hexdigest()
