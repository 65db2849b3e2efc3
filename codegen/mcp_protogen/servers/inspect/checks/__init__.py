"""The checks: pure functions from a transcript to the faults that it shows."""
