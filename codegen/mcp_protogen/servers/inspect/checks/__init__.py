"""The checks: pure functions from a session to the faults that it shows."""
