"""The body of an answer: inflated piece by piece, and never more of it than was asked for."""

import zlib
from collections.abc import Iterator, Mapping

from rag.errors import ItemFailed, ItemRefused

ENCODINGS = "gzip, deflate"
_PIECE = 65_536
_GZIP = b"\x1f"
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


def read(pieces: Iterator[bytes], headers: Mapping[str, str], most: int, host: str) -> Iterator[bytes]:
    """Yield the body that `pieces` carry; ItemFailed where it is broken or has more than `most` bytes."""
    encoding, length = headers.get("content-encoding", ""), headers.get("content-length", "")
    if not encoding and length.isdecimal() and int(length) > most:
        raise _too_large(most, host)
    # Bytes that inflate to nothing count too; a small body may be longer when it is packed.
    return capped(inflated(capped(pieces, most + _PIECE, host), encoding, host), most, host)


def inflated(pieces: Iterator[bytes], encoding: str, host: str) -> Iterator[bytes]:
    """Yield a body as it was before `Content-Encoding`, at most 64 KiB at a time. Raises ItemFailed."""
    encodings = [
        name for name in encoding.lower().replace(" ", "").split(",") if name not in ("", "identity")
    ]
    if not encodings:
        yield from pieces
    elif encodings[0] in ("gzip", "x-gzip", "deflate") and len(encodings) == 1:
        try:
            yield from _inflate(pieces, encodings[0] == "deflate")
        except (zlib.error, EOFError) as error:
            raise ItemFailed(f"{host} sent something compressed that cannot be unpacked.") from error
    else:
        raise ItemFailed(f"{host} sent something compressed in a way that was not asked for.")


def capped(pieces: Iterator[bytes], most: int, host: str) -> Iterator[bytes]:
    """Yield `pieces`; ItemFailed as soon as they are more than `most` bytes together."""
    read = 0
    for piece in pieces:
        read += len(piece)
        if read > most:
            raise _too_large(most, host)
        yield piece


def _inflate(pieces: Iterator[bytes], deflate: bool) -> Iterator[bytes]:
    inflater, begun = zlib.decompressobj(_GZIP_OR_ZLIB), False
    for piece in pieces:
        if deflate and not begun and piece and piece[0] & 0x0F != zlib.DEFLATED:
            inflater = zlib.decompressobj(-zlib.MAX_WBITS)  # some servers send it without its frame
        begun = begun or bool(piece)
        while piece:
            if inflater.eof and not piece.startswith(_GZIP):
                return  # padding behind the end
            inflater = zlib.decompressobj(_GZIP_OR_ZLIB) if inflater.eof else inflater
            yield inflater.decompress(piece, _PIECE)
            piece = inflater.unconsumed_tail or inflater.unused_data
    yield inflater.flush()
    if begun and not inflater.eof:
        raise EOFError


def _too_large(most: int, host: str) -> ItemRefused:
    size = f"{most / 1_000_000:.0f} MB" if most >= 1_000_000 else f"{most:,} bytes"
    return ItemRefused(f"{host} sends more than {size} here, which is the most that is fetched.")
