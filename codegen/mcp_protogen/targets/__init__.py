"""Targets: types and tables without our runtime, for other libraries and languages."""
