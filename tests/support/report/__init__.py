"""The report about derived files: its records, counts, and page."""
