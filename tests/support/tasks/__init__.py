"""What the tests of tasks share."""
