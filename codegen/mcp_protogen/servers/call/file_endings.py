"""Endings of files for media types, the same on every machine.

The tables of systems differ, and that of Python lacks types that servers send.
"""

from mimetypes import MimeTypes
from typing import Final

BYTES: Final = "application/octet-stream"
"""The type of unknown bytes (RFC 2046, 4.5.1)."""
_TYPES: Final = {
    ".7z": "application/x-7z-compressed",
    ".aiff": "audio/aiff audio/x-aiff",
    ".apng": "image/apng",
    ".bmp": "image/x-ms-bmp",
    ".flac": "audio/flac audio/x-flac",
    ".gz": "application/gzip application/x-gzip",
    ".ico": "image/x-icon",
    ".ics": "text/calendar",
    ".jar": "application/java-archive",
    ".jpg": "image/jpg image/pjpeg",
    ".js": "text/javascript application/x-javascript",
    ".jsonl": "application/jsonl application/x-jsonlines",
    ".jsonld": "application/ld+json",
    ".jxl": "image/jxl",
    ".m4a": "audio/m4a audio/mp4 audio/x-m4a",
    ".md": "text/markdown text/x-markdown",
    ".mid": "audio/midi audio/x-midi",
    ".mkv": "video/matroska video/x-matroska",
    ".mp3": "audio/mp3",
    ".ndjson": "application/x-ndjson",
    ".odp": "application/vnd.oasis.opendocument.presentation",
    ".ods": "application/vnd.oasis.opendocument.spreadsheet",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".ogg": "application/ogg audio/ogg audio/vorbis",
    ".ogv": "video/ogg",
    ".otf": "font/otf",
    ".parquet": "application/vnd.apache.parquet",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".rtf": "application/rtf text/rtf",
    ".sql": "application/sql",
    ".toml": "application/toml",
    ".ttf": "font/ttf",
    ".wav": "audio/vnd.wave audio/wav audio/wave",
    ".webm": "audio/webm",
    ".webp": "image/webp",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".xml": "application/xml",
    ".yaml": "application/yaml application/x-yaml text/yaml text/x-yaml",
    ".zip": "application/x-zip-compressed",
    ".zst": "application/zstd",
}
_ENDINGS: Final = {name: ending for ending, names in _TYPES.items() for name in names.split()}
_PYTHON: Final = MimeTypes()
_SYNTAXES: Final = ("json", "xml", "yaml", "zip")
"""The suffixes that name the format of a type (RFC 6839)."""


def ending_of(media_type: str) -> str | None:
    """Return the usual ending of a file of a media type, with its dot; else None."""
    name = media_type.partition(";")[0].strip().lower()
    if name == BYTES:
        return None
    syntax = name.rpartition("+")[2]
    written = f".{syntax}" if f"+{syntax}" in name and syntax in _SYNTAXES else None
    return _ENDINGS.get(name) or _PYTHON.guess_extension(name) or written
