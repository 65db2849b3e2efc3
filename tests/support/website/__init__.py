"""The built site, for tests."""
