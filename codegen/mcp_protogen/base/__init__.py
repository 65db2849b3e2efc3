"""Helpers for every stage of the generator; they import no stage."""
