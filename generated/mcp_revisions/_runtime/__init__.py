"""What generated code stands on: models, method tables, gates and the machinery around them.

This package is copied, byte for byte, into every generated package. It imports nothing by itself,
so that a package whose models are not needed yet loads neither them nor Pydantic.
"""
