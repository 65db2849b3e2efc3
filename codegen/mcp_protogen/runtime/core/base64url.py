"""Base64url: bytes in a URL, a header field or a JWT (RFC 4648, section 5)."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256


def base64url(data: bytes) -> str:
    """Return bytes in base64url without padding, as in JOSE (RFC 7515, section 2)."""
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def text_digest(text: str) -> str:
    """Return the SHA-256 digest of a text, which may have lone surrogates, in base64url."""
    return base64url(sha256(text.encode(errors="surrogatepass")).digest())


def base64url_bytes(text: str) -> bytes:
    """Return the bytes of such a text; raise `ValueError`. Several texts may mean the same."""
    return urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
