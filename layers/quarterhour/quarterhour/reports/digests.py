"""SHA-256 of contents, and of streams in bounded memory."""

from hashlib import sha256
from typing import Any, Final

_BLOCK: Final = 1 << 20


def stream_digest(stream: Any, copy: Any = None) -> str:  # noqa: ANN401 - a file, or what S3 returns
    """Return the SHA-256 of the rest of a stream, in hexadecimal; write what is read to ``copy``, if there is one."""
    digest = sha256()
    while block := stream.read(_BLOCK):
        digest.update(block)
        if copy is not None:
            copy.write(block)
    return digest.hexdigest()


def hexdigest(content: bytes) -> str:
    """Return the SHA-256 of a file's content in hexadecimal."""
    return sha256(content).hexdigest()
