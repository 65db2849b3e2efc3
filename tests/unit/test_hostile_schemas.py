"""Schemas that multiply or go round end as types or as an error with its place, in few steps."""

import pytest
from mcp_protogen.base.problems import Level, ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.inputs.snapshot import snapshot_of
from mcp_protogen.pipeline.inputs.sources import of_snapshot
from support import tables
from support.unit.hostile_schemas import KINDS, bounded_work, hostile


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_schema_takes_work_by_its_size(kind: str) -> None:
    for seed in range(tables.count(4, 40)):
        with tables.case(seed):
            document = snapshot_of(hostile(kind, seed))
            source = of_snapshot("draft", schema_folder(), document, "tiny.json", {})
            try:
                with bounded_work(document):
                    derive_revision(source)
            except ProblemError as error:
                errors = [problem for problem in error.problems if problem.level is Level.ERROR]
                assert all(
                    problem.place == "tiny.json" and problem.pointer for problem in errors
                ), errors
