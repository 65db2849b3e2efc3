"""Targets: types and tables without our runtime, in the form of other libraries and languages."""
