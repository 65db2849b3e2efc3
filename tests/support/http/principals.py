"""Two principals with tokens, for tests of their separation."""

from typing import Final

from support.sessions.talking import pkg

ADA: Final = {"authorization": f"Bearer {'a' * 16}"}
BEN: Final = {"authorization": f"Bearer {'b' * 16}"}
GUARD: Final = pkg.Authentication(
    verify=pkg.static_tokens({"a" * 16: pkg.Principal("ada"), "b" * 16: pkg.Principal("ben")})
)
