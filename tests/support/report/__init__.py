"""The report about what is derived: its records, what it counts, and the page."""
