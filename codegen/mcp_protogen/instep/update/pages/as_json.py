"""An outcome as JSON, for programs.

The format is public: `schema/formats/update.schema.json` describes it. Texts are not escaped for a
terminal, and nothing is cut.
"""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from mcp_protogen.base.canonical import as_document
from mcp_protogen.base.problems import Problem
from mcp_protogen.instep.update.candidates import Candidate
from mcp_protogen.instep.update.dependents import Dependent
from mcp_protogen.instep.update.updating import News, UpdateResult
from mcp_protogen.pipeline.inputs.pins import EXTENSION, Publication
from mcp_protogen.pipeline.reports.pages.as_json import as_json as comparison_json
from mcp_protogen.pipeline.reports.report import RunStatus

FORMAT = 1


def render(outcome: UpdateResult) -> str:
    """Return the document of a look that succeeded."""
    news = {entry.finding.candidate.revision: entry for entry in outcome.news}
    differs = outcome.news and outcome.accepted is None
    source = outcome.source
    accepted = outcome.news[0].finding.candidate if outcome.accepted is not None else None
    return _document(
        status=RunStatus.DIFFERS if differs else RunStatus.FINE,
        source={"name": source.name, "kind": source.kind, "commit": source.commit},
        revisions=[
            _revision(candidate, news.get(candidate.revision)) for candidate in outcome.candidates
        ],
        accepted=accepted and {"revision": accepted.revision, "sha256": accepted.sha256},
        problems=_problems(outcome.notices),
    )


def render_failure(problems: Iterable[Problem]) -> str:
    """Return the document of a look that was stopped by its input."""
    return _document(
        status=RunStatus.FAILED,
        source=None,
        revisions=[],
        accepted=None,
        problems=_problems(problems),
    )


def _document(**members: Any) -> str:
    return as_document({"format": FORMAT, "command": "update", **members})


def _revision(candidate: Candidate, news: News | None) -> dict[str, Any]:
    return {
        "revision": candidate.revision,
        **({"kind": "extension"} if candidate.kind is EXTENSION else {}),
        "state": candidate.state,
        "path": candidate.path,
        "sha256": candidate.sha256,
        "commit": candidate.published.commit,
        "date": candidate.published.date,
        "pinned": _publication(candidate.pin.published) if candidate.pin else None,
        "known": _publication(candidate.known) if candidate.known else None,
        "twin": candidate.twin or None,
        "finding": _finding(news) if news else None,
    }


def _finding(news: News) -> dict[str, Any]:
    finding = news.finding
    comparison = finding.comparison
    return {
        "compared_with": finding.compared_with,
        "only_prose": finding.only_prose,
        "pointers": list(finding.pointers),
        "comparison": None if comparison is None else comparison_json(comparison, None),
        "patches": [asdict(patch) for patch in finding.patches],
        "undecided": _problems(finding.undecided.open),
        "wrong": _problems(finding.undecided.wrong),
        "packages": [_package(package) for package in news.packages],
    }


def _package(package: Dependent) -> dict[str, Any]:
    return {
        "folder": package.folder,
        "revision": package.revision,
        "basis": package.input_kind,
        "source": package.source,
        "would_change": package.would_change,
    }


def _publication(publication: Publication) -> dict[str, Any]:
    return {
        "sha256": publication.sha256,
        "commit": publication.spec_commit,
        "date": publication.date,
        "note": publication.note,
    }


def _problems(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    return [problem._asdict() for problem in problems]
