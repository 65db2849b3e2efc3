"""Write the explorer into a folder: `python -m website.explorer FOLDER`."""

import sys
from pathlib import Path

from website.explorer.writing import write

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m website.explorer FOLDER")
    write(Path(sys.argv[1]))
