"""Revisions side by side."""

from mcp_protogen.instep.compare.matrix import matrix_of
from mcp_protogen.pipeline.reports.change import Category, Matrix, MatrixRow
from support.compare.code_cases import ASK, asking, side
from support.unit.schemas import STRING, record


def row(matrix: Matrix, category: Category, name: str) -> MatrixRow:
    (found,) = (row for row in matrix.rows if (row.category, row.name) == (category, name))
    return found


def test_each_side_is_a_column_in_the_order_given() -> None:
    matrix = matrix_of([side(), asking(deprecated="2"), side()])
    assert matrix.revisions == ("made-up",) * 3
    assert all(len(row.cells) == 3 for row in matrix.rows)


def test_a_cell_says_whether_there_is_anything() -> None:
    matrix = matrix_of([side(), side({"Named": record(a=STRING)}), side()])
    cells = row(matrix, Category.TYPE, "Named").cells
    assert [cell.present for cell in cells] == [False, True, False]
    assert [cell.detail for cell in cells] == ["", "1 member", ""]


def test_a_method_says_who_sends_it_and_what_comes_back() -> None:
    cell = row(matrix_of([side()]), Category.METHOD, ASK.method).cells[0]
    assert cell.detail == "client -> AskResult"


def test_the_digest_differs_where_anything_does() -> None:
    versions = [side(), asking(deprecated="2"), side({"AskResult": record(a=STRING)}), side()]
    matrix = matrix_of(versions)
    methods = [cell.digest for cell in row(matrix, Category.METHOD, ASK.method).cells]
    assert methods[0] != methods[1] != methods[2] == methods[3] == methods[0]
    types = [cell.digest for cell in row(matrix, Category.TYPE, "AskResult").cells]
    assert types[0] == types[1] != types[2] != types[3] == types[0]


def test_the_same_in_another_place_of_the_specification_is_the_same() -> None:
    matrix = matrix_of([side(), asking(source="elsewhere", since="2", doc="Asks.")])
    before, after = row(matrix, Category.METHOD, ASK.method).cells
    assert before == after
