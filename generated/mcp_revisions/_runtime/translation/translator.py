"""The translation of decoded JSON by the tables of a pair of revisions."""

from functools import cache
from importlib import import_module
from typing import Any, Final

from ..core.losses import Loss, Report, Translated
from .plans import Direction
from .steps import Compiled, Run


class Translator:
    """A translator of values from one revision to another."""

    def __init__(self, direction: Direction) -> None:
        self.direction: Final = direction
        self._compiled = Compiled(direction.plans)
        self._params: dict[str, Run | None] = {}
        self._results: dict[str, Run | None] = {}

    def of_type(self, name: str) -> Run | None:
        """Return the function for a type, by its name in the source; None if it does not change.

        Raises `LookupError` for a type that the target does not have.
        """
        if name in self.direction.plans:
            return self._compiled.plan(name)
        if name in self.direction.same:
            return None
        raise LookupError(
            f"{self.direction.target} has no equivalent of {name} of {self.direction.source}"
        )

    def becomes(self, name: str) -> str:
        """Return the target's name of a type of the source; raise `LookupError` if it has none."""
        if name in self.direction.same:
            return self.direction.same[name]
        self.of_type(name)
        return self.direction.plans[name].becomes

    def params(self, method: str) -> Run | None:
        """Return the function for the params of a method; None if they do not change."""
        if method not in self._params:
            step = self.direction.methods[method].params
            self._params[method] = None if step is None else self._compiled.step(step)
        return self._params[method]

    def result(self, method: str) -> Run | None:
        """Return the function for the plain result of a method; None if it does not change."""
        if method not in self._results:
            step = self.direction.methods[method].result
            self._results[method] = None if step is None else self._compiled.step(step)
        return self._results[method]

    def code(self, method: str, code: int) -> int:
        """Return the target's error code for a method, given the code of the source."""
        errors = self.direction.errors
        found = errors.get((method, code)) or errors.get(("", code))
        return code if found is None else found[0]

    def translate(self, value: Any, name: str) -> Translated[Any]:
        """Translate a value of the type `name`, and list what was lost.

        Raises `LookupError` as `of_type` does, and `Untranslatable`.
        """
        run = self.of_type(name)
        if run is None:
            return Translated(value)
        losses: list[Loss] = []
        return Translated(run(value, None, Report(losses)), tuple(losses))


@cache
def translator(package: str, source: str, target: str) -> Translator:
    """Return the translator of a generated package between two of its revisions.

    Raises `LookupError` if the package has no table for them.
    """
    older, newer = sorted((source, target))
    name = f"{package}.translate.{module_name(older)}__{module_name(newer)}"
    try:
        tables = import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise LookupError(f"{package} has no table between {older} and {newer}") from None
    direction: Direction = tables.UP if source == older else tables.DOWN
    return Translator(direction)


def module_name(revision: str) -> str:
    """Return the name of a revision's module in a generated package."""
    return "v" + revision.replace("-", "_").replace(".", "_").lower()
