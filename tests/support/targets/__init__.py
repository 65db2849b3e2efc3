"""Support for tests of targets: types and tables in other forms than our own package."""
