"""The part that runs in the SDK's own interpreter: it reads types and tries messages.

It is started by file path (`run.py`), without `mcp_protogen` being installed there: only the
standard library of Python 3.10 and the SDK itself may be imported. Types made with Pydantic are
used through the SDK's Pydantic.
"""
