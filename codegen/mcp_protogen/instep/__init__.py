"""Staying in step with the specification: revisions, SDKs and published files compared."""
