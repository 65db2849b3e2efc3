"""The tables of a pair of revisions at work, on decoded JSON."""

from functools import cache
from importlib import import_module
from typing import Any, Final

from .losses import Loss, Report, Translated
from .plans import Direction
from .steps import Compiled, Run


class Translator:
    """Turns values of one revision into those of another."""

    def __init__(self, direction: Direction) -> None:
        self.direction: Final = direction
        self._compiled = Compiled(direction.plans)
        self._params: dict[str, Run | None] = {}
        self._results: dict[str, Run | None] = {}

    def of_type(self, name: str) -> Run | None:
        """What translates values of a type, by its name in the source; None if they are the same.

        Raises `LookupError` for a type that the target has nothing for.
        """
        if name in self.direction.plans:
            return self._compiled.plan(name)
        if name in self.direction.same:
            return None
        raise LookupError(
            f"{self.direction.target} has nothing for the {name} of {self.direction.source}"
        )

    def becomes(self, name: str) -> str:
        """What a type of the source is called in the target; raises `LookupError`."""
        if name in self.direction.same:
            return self.direction.same[name]
        self.of_type(name)
        return self.direction.plans[name].becomes

    def params(self, method: str) -> Run | None:
        """What translates the params of a method; None if they are the same."""
        if method not in self._params:
            step = self.direction.methods[method].params
            self._params[method] = None if step is None else self._compiled.step(step)
        return self._params[method]

    def result(self, method: str) -> Run | None:
        """What translates the plain result of a method; None if it is the same."""
        if method not in self._results:
            step = self.direction.methods[method].result
            self._results[method] = None if step is None else self._compiled.step(step)
        return self._results[method]

    def code(self, method: str, code: int) -> int:
        """The error code that answers a method in the target where `code` does in the source."""
        errors = self.direction.errors
        found = errors.get((method, code)) or errors.get(("", code))
        return code if found is None else found[0]

    def translate(self, value: Any, name: str) -> Translated[Any]:
        """A value of the type `name`, and all that is lost of it.

        Raises `LookupError` as `of_type` does, and `Untranslatable`.
        """
        run = self.of_type(name)
        if run is None:
            return Translated(value)
        losses: list[Loss] = []
        return Translated(run(value, None, Report(losses)), tuple(losses))


@cache
def translator(package: str, source: str, target: str) -> Translator:
    """The translator of a generated package between two of its revisions.

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
    """The module of a revision in a generated package."""
    return "v" + revision.replace("-", "_").replace(".", "_").lower()
