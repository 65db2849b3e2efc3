"""The part that runs in the target's own interpreter: it reads types and tries messages.

It is started by file path (`run.py`), without `mcp_protogen` being installed there: only the
standard library of Python 3.10 and the target itself may be imported. Types made with Pydantic are
used through the target's Pydantic.
"""
