"""Packages that can be imported, made anew or kept from an earlier run."""
