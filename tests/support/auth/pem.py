"""Keys as texts, as the settings of clients and servers have them."""

from mcp_protogen.runtime.features.auth.signing import PrivateKey


def pem_of(key: PrivateKey) -> str:
    """Return a private key as PEM without a password (PKCS #8)."""
    pem: bytes = vars(key)["_key"].as_pem(private=True)
    return pem.decode()
