"""What the tests of `tests/tasks` share."""
