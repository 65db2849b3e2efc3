"""Findings, and the pages and reports that show them."""
