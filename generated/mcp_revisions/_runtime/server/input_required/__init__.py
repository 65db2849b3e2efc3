"""Requests that need input of the client before they can be answered."""
