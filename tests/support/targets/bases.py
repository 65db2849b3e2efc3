"""A class of a user that the types of a target extend."""

import msgspec


class Named(msgspec.Struct):
    def kind(self) -> str:
        """The name of its class."""
        return type(self).__name__
