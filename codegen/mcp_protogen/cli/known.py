"""Findings that are known already or not wanted, and what the options for them do.

All commands that report findings share them.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_protogen.base.printable import counted, one_line
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.base.suggest import did_you_mean
from mcp_protogen.cli.console import say
from mcp_protogen.pipeline.reports.change import Comparison
from mcp_protogen.pipeline.reports.pages import PageFormat
from mcp_protogen.pipeline.reports.pages.workflow_commands import log_line

if TYPE_CHECKING:
    from mcp_protogen.pipeline.reports.baseline import SortedFindings


@dataclass(frozen=True, slots=True)
class BaselineOptions:
    """The values of the options; `noun` is the word of a command for what it finds."""

    noun: str
    baseline: Path | None = None
    write: bool = False
    ignore: tuple[str, ...] = ()

    def check(self, codes: Collection[str]) -> None:
        """Raise `ProblemError` if an option has no effect; `codes` are the codes that exist."""
        if self.write and self.baseline is None:
            message = "--write-baseline needs --baseline FILE"
            raise ProblemError(Problem("conflicting-options", message))
        for one in self.ignore:
            code = one.partition(":")[0]
            if "*" not in code and code not in codes:
                message = f"--ignore names {code!r}, but no {self.noun} has this code"
                hint = did_you_mean(code, codes, "mcp-gen explain lists all codes")
                raise ProblemError(Problem("unknown-code", message, hint=hint))

    def compared(self, found: Comparison) -> "BaselineResult":
        """Return what was found, compared with what is known."""
        from mcp_protogen.pipeline.reports.baseline import (
            Baseline,
            ignore_rule,
            read_baseline,
            sort,
        )

        known = Baseline(found.before, {})
        if self.baseline is not None and not self.write:
            known = read_baseline(self.baseline, found.before)
        return BaselineResult(
            self, found, sort(found.changes, known, map(ignore_rule, self.ignore))
        )


@dataclass(frozen=True, slots=True)
class BaselineResult:
    """The findings, compared with what is known."""

    known: BaselineOptions
    found: Comparison
    sorted: "SortedFindings"

    @property
    def new(self) -> Comparison:
        """The findings to show; the others count as left out."""
        left_out = self.found.left_out + len(self.sorted.known) + len(self.sorted.ignored)
        return replace(self.found, changes=self.sorted.new, left_out=left_out)

    def keep(self, *lines: str) -> bool:
        """Write the findings into the baseline if that was asked for; return whether it was."""
        if not self.known.write or self.known.baseline is None:
            return False
        from mcp_protogen.pipeline.reports.baseline import write_baseline

        write_baseline(self.known.baseline, self.found.before, self.sorted.new)
        written = f"{self.known.baseline}: {counted(len(self.sorted.new), self.known.noun)} written"
        say("".join(f"{one_line(line)}\n" for line in (*lines, written)))
        return True

    def closed(self, page: str, form: PageFormat, *lines: str) -> str:
        """Return a page for people with some more lines, and what was left out of it and why."""
        closing = [*self._fixed(), *lines, *self._left_out()]
        if form in (PageFormat.TEXT, PageFormat.GITHUB):
            return page + "".join(f"{log_line(line)}\n" for line in closing)
        if form is PageFormat.MARKDOWN and closing:
            from mcp_protogen.pipeline.reports.pages.markdown import prose

            return page + "\n" + "".join(f"- {prose(line)}\n" for line in closing)
        return page

    def as_json(self) -> dict[str, Any]:
        """Return the known and the fixed findings, for programs."""
        return {
            "known": [_entry(change.code, change.item) for change in self.sorted.known],
            "fixed": [_entry(*key) for key in self.sorted.fixed],
        }

    def _fixed(self) -> Iterator[str]:
        yield from (f"fixed: {code}: {item}" for code, item in self.sorted.fixed)

    def _left_out(self) -> Iterator[str]:
        if self.sorted.known:
            yield f"{counted(len(self.sorted.known), self.known.noun)} known from the baseline"
        if self.sorted.ignored:
            yield f"{counted(len(self.sorted.ignored), self.known.noun)} ignored"


def _entry(code: str, item: str) -> dict[str, str]:
    return {"code": code, "item": item}
