"""All differences of adjacent revisions that the reference list cannot express.

`PYTHONPATH=tests python -m support.compare.unlisted` records them anew.
"""

from support import tables
from support.compare.unlisted import file_of, unlisted_lines
from support.revisions import NEIGHBOURS


def test_unlisted_differences_match_written_file() -> None:
    for before, after in NEIGHBOURS:
        with tables.case((before, after)):
            assert unlisted_lines(before, after) == file_of(before, after).read_text(
                encoding="utf-8"
            )
