"""The start of the probe: `python run.py describe|respond JOB`.

JOB is a JSON object, compressed and in base64. The folder of this file must not be on the path, or
its modules would hide the SDK's. So they become a package with its own name, and the working
directory takes the folder's place, as with `python -m`.
"""

import base64
import importlib
import importlib.util
import json
import os
import sys
import zlib
from pathlib import Path

_PACKAGE = "_mcp_gen_probe"


def main() -> None:
    """Run one part of the probe, and end the process, even if the SDK has started threads."""
    part, job = sys.argv[1], json.loads(zlib.decompress(base64.urlsafe_b64decode(sys.argv[2])))
    channel = _protected_stdout()
    here = Path(__file__).resolve().parent
    sys.path[0] = os.getcwd()
    spec = importlib.util.spec_from_file_location(
        _PACKAGE, here / "__init__.py", submodule_search_locations=[str(here)]
    )
    assert spec is not None
    sys.modules[_PACKAGE] = importlib.util.module_from_spec(spec)
    importlib.import_module(f"{_PACKAGE}.{part}").main(job, channel)
    sys.stderr.flush()
    os._exit(0)


def _protected_stdout() -> int:
    """Return a descriptor for our use; output of the SDK goes to standard error."""
    channel = os.dup(1)
    os.dup2(2, 1)
    return channel


if __name__ == "__main__":
    main()
