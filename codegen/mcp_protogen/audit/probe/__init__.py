"""What runs in the target's own interpreter: looks at its types, and tries messages on them.

Started by file path (`run.py`), without `mcp_protogen` being installed there: nothing but the
standard library of Python 3.10 and the target itself may be imported. Types that Pydantic made are
asked through the Pydantic that the target has.
"""
