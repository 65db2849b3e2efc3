"""Support for tests of targets: types and tables without our own runtime."""
