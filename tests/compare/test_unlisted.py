"""All differences of adjacent revisions that the reference list cannot express.

`PYTHONPATH=tests python -m support.compare.unlisted` records them anew.
"""

from support import tables
from support.compare.unlisted import file_of, written
from support.revisions import NEIGHBOURS


def test_what_no_list_has_is_as_written_down() -> None:
    for before, after in NEIGHBOURS:
        with tables.case((before, after)):
            assert written(before, after) == file_of(before, after).read_text(encoding="utf-8")
