"""Print each bound: its name, its measured value, and its maximum.

PYTHONPATH=tests python -m support.bounds
"""

from support.bounds.bounds import read_bounds
from support.bounds.measures import MEASURES

if __name__ == "__main__":
    for name, bound in read_bounds().items():
        print(f"{name:24} | {MEASURES[name]().amount:7,} | {bound.most:7,} {bound.unit}")
