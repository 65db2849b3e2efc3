"""The settings of a run where its package is: as given, or as the lock has it."""

from mcp_protogen.pipeline.options import BY_FIELD, FORMS, locked_options
from mcp_protogen.pipeline.output.lock import Lock
from mcp_protogen.pipeline.parts import parts_named
from mcp_protogen.pipeline.settings import Settings


def with_locked(settings: Settings, lock: Lock | None) -> Settings:
    """Return settings with what the lock has of options that stay as they were.

    Parts are added to those that are there, unless these are to be removed. Who names a target or
    layers says the whole form anew. Raise `ProblemError`: `unknown-part`, `conflicting-options`.
    """
    locked = locked_options(lock.inputs.options) if lock else {}
    anew = any(getattr(settings, field) is not None for field in FORMS)
    kept = {
        field: value
        for field, value in locked.items()
        if getattr(settings, field) is None and not (anew and BY_FIELD[field].of == "alone")
    }
    if settings.parts is not None:
        there = () if settings.has_only("parts") else locked.get("parts", ())
        kept["parts"] = tuple(sorted({*parts_named(settings.parts), *there}))
    return settings._replace(**kept)
