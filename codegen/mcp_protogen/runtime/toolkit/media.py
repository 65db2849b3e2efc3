"""Images, sounds and files as return values: bytes, or the content of a file."""

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from mimetypes import guess_type
from os import PathLike
from pathlib import Path
from typing import ClassVar, Final
from urllib.parse import quote

from ..core.json import JSONObject
from .revision_models import Kinds, Media

# Types unknown to Python, or named differently in some versions.
_TYPES: Final[Mapping[str, str]] = {"md": "text/markdown", "wav": "audio/wav", "webp": "image/webp"}
# Text types whose name does not begin with text/.
_TEXTS: Final = ("application/json", "application/xml", "application/javascript")


class _Bytes(Media):
    _KIND: ClassVar[str]
    _USUAL: ClassVar[str]

    def __init__(
        self,
        path: str | PathLike[str] | None = None,
        data: bytes | None = None,
        format: str | None = None,
        *,
        name: str | None = None,
        mime_type: str | None = None,
    ) -> None:
        """Take `data`, or read the file at `path`; raise `OSError` if that fails.

        The type is `mime_type`, or follows from `format`, such as `png`, or the name of the file.
        """
        if (path is None) == (data is None):
            raise TypeError(f"{type(self).__name__} takes either a path or data")
        self.data = Path(path).read_bytes() if path is not None else bytes(data or b"")
        self.name = name or (Path(path).name if path is not None else "")
        self.mime_type = mime_type or self._type_of(format)

    def _type_of(self, format: str | None) -> str:
        known = (format or Path(self.name).suffix).removeprefix(".").lower()
        if not known:
            return self._USUAL
        found = _TYPES.get(known) or guess_type(f"x.{known}")[0]
        group = self._USUAL.partition("/")[0]
        if found is None or (group == self._KIND and not found.startswith(f"{group}/")):
            # The class is more reliable than the name: `mp4` may be sound or film.
            return f"{group}/{known}" if format or group == self._KIND else self._USUAL
        return found

    def block(self, kinds: Kinds) -> JSONObject:
        if self._KIND not in kinds:
            return {"type": "resource", "resource": self.contents(self._uri())}
        data = b64encode(self.data).decode()
        return {"type": self._KIND, "data": data, "mimeType": self.mime_type}

    def contents(self, uri: str) -> JSONObject:
        blob = b64encode(self.data).decode()
        return {"uri": uri, "mimeType": self.mime_type, "blob": blob}

    def _uri(self) -> str:
        if self.name:
            # Only the name: the path on the server is private.
            return f"file:///{quote(self.name)}"
        return f"{self._KIND}:{sha256(self.data).hexdigest()[:16]}"


class Image(_Bytes):
    """An image: `Image("plot.png")`, or `Image(data=b"…", format="png")`."""

    _KIND = "image"
    _USUAL = "image/png"


class Audio(_Bytes):
    """A sound; an embedded resource in the first revision, which has no audio blocks."""

    _KIND = "audio"
    _USUAL = "audio/wav"


class File(_Bytes):
    """A file of any type, as an embedded resource: as text if its type and its bytes allow it."""

    _KIND = "file"
    _USUAL = "application/octet-stream"

    def contents(self, uri: str) -> JSONObject:
        if self.mime_type.startswith("text/") or self.mime_type in _TEXTS:
            try:
                return {"uri": uri, "mimeType": self.mime_type, "text": self.data.decode()}
            except UnicodeDecodeError:
                pass
        return super().contents(uri)
