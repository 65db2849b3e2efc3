"""Findings by the choices of the user, for all commands that report findings."""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_protogen.base.canonical import as_document
from mcp_protogen.base.option_constraints import conflict
from mcp_protogen.base.printable import pluralize, safe_line
from mcp_protogen.base.problems import Problem, ProblemError, did_you_mean
from mcp_protogen.pipeline.reports.change import Comparison, Matrix, Reader, Severity
from mcp_protogen.pipeline.reports.pages import PageFormat, render
from mcp_protogen.pipeline.reports.pages.workflow_commands import log_line
from mcp_protogen.pipeline.reports.view import FindingsPage, View

if TYPE_CHECKING:
    from mcp_protogen.pipeline.reports.baseline import SortedFindings


@dataclass(frozen=True, slots=True)
class FindingOptions:
    """The options for findings; `noun` is the command's word for a finding.

    `reader` and `least` choose shown findings; the baseline and `ignore`, known and ignored ones.
    """

    noun: str
    baseline: Path | None = None
    write: bool = False
    ignore: tuple[str, ...] = ()
    reader: Reader | None = None
    least: Severity | None = None

    def check(self, codes: Collection[str]) -> None:
        """Raise `ProblemError` if an option has no effect; `codes` are all codes."""
        if self.write and self.baseline is None:
            raise conflict("--write-baseline needs --baseline FILE")
        for entry in self.ignore:
            code = entry.partition(":")[0]
            if "*" not in code and code not in codes:
                message = f"--ignore names {code!r}, but no {self.noun} has this code"
                hint = did_you_mean(code, codes, "mcp-gen explain lists all codes")
                raise ProblemError(Problem("unknown-code", message, hint=hint))

    def sort(self, comparison: Comparison) -> "Findings":
        """Return the findings, compared with the baseline."""
        from mcp_protogen.pipeline.reports.baseline import (
            Baseline,
            parse_ignore_entry,
            read_baseline,
            sort,
        )

        baseline = Baseline(comparison.before, {})
        if self.baseline is not None and not self.write:
            baseline = read_baseline(self.baseline, comparison.before)
        return Findings(
            self,
            comparison,
            sort(comparison.changes, baseline, map(parse_ignore_entry, self.ignore)),
        )


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings, compared with the baseline."""

    options: FindingOptions
    found: Comparison
    sorted: "SortedFindings"

    @property
    def new(self) -> Comparison:
        """The new findings; the others count as left out."""
        left_out = self.found.left_out + len(self.sorted.known) + len(self.sorted.ignored)
        return replace(self.found, changes=self.sorted.new, left_out=left_out)

    @property
    def shown_findings(self) -> Comparison:
        """The new findings that the user has chosen."""
        return self.new.narrow(self.options.reader, self.options.least)

    def fails(self, least: Severity | None) -> bool:
        """Return whether a new finding has at least this severity; False for None."""
        return least is not None and self.new.reaches(self.options.reader, least)

    def save(self, *lines: str) -> FindingsPage | None:
        """Write the findings into the baseline, and return a page with `lines` and their number.

        Return None without --write-baseline.
        """
        if not self.options.write or self.options.baseline is None:
            return None
        from mcp_protogen.pipeline.reports.baseline import write_baseline

        write_baseline(self.options.baseline, self.found.before, self.sorted.new)
        number = pluralize(len(self.sorted.new), self.options.noun)
        written = f"{self.options.baseline}: {number} written"
        return FindingsPage(
            "".join(f"{safe_line(line)}\n" for line in (*lines, written)), saved=True
        )

    def page(
        self, view: View, *lines: str, matrix: Matrix | None = None, head: Any = None
    ) -> FindingsPage:
        """Return the page of the shown findings; any of them makes a command fail.

        For people it ends with `lines`. As JSON, it is a member of a document that begins with
        `head`, if given.
        """
        shown, format = self.shown_findings, PageFormat(view.format)
        text = render(
            format, shown, matrix, reader=self.options.reader, colour=view.colour, width=view.width
        )
        notes = shown.notes if format in (PageFormat.TEXT, PageFormat.HTML) else ()
        if format is PageFormat.JSON:
            text = self._document(text, head)
        return FindingsPage(self.close(text, format, *lines), bool(shown.changes), notes)

    def _document(self, comparison: str, head: Any) -> str:
        if head is not None:
            document = {**head, **self._as_json(), "comparison": json.loads(comparison)}
        elif self.options.baseline is not None:
            document = {**json.loads(comparison), **self._as_json()}
        else:
            return comparison
        return as_document(document)

    def close(self, page: str, format: PageFormat, *lines: str) -> str:
        """Return a page for people with fixed findings, `lines`, and the number of omissions."""
        closing = [*self._fixed_lines(), *lines, *self._omitted_lines()]
        if format in (PageFormat.TEXT, PageFormat.GITHUB):
            return page + "".join(f"{log_line(line)}\n" for line in closing)
        if format is PageFormat.MARKDOWN and closing:
            from mcp_protogen.pipeline.reports.pages.markdown import prose

            return page + "\n" + "".join(f"- {prose(line)}\n" for line in closing)
        return page

    def _as_json(self) -> dict[str, Any]:
        return {
            "known": [_entry(change.code, change.item) for change in self.sorted.known],
            "fixed": [_entry(*key) for key in self.sorted.fixed],
        }

    def _fixed_lines(self) -> Iterator[str]:
        yield from (f"fixed: {code}: {item}" for code, item in self.sorted.fixed)

    def _omitted_lines(self) -> Iterator[str]:
        if self.sorted.known:
            yield f"{pluralize(len(self.sorted.known), self.options.noun)} known from the baseline"
        if self.sorted.ignored:
            yield f"{pluralize(len(self.sorted.ignored), self.options.noun)} ignored"


def _entry(code: str, item: str) -> dict[str, str]:
    return {"code": code, "item": item}
