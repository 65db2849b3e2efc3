"""The program behind `make release`, here and in the workflow alike."""
