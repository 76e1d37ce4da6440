"""Encryption of a backup with a passphrase: scrypt, then AES-256-GCM in chunks, so that memory is bounded.

A file is `MAGIC`, the salt, a check of the passphrase and a nonce prefix, then chunks of a mebibyte. Each has
a tag of its own; its nonce holds its number and whether it is the last one (the STREAM construction), and its
tag covers the header. So chunks cannot be changed, exchanged, dropped or added, and an end that is cut off
is noticed. https://eprint.iacr.org/2015/189
"""

import hashlib
import hmac
import os
from typing import IO, Any

from storage.errors import StorageError
from storage.i18n import N_

MAGIC = b"footnote backup, encrypted, 1\n"
CHUNK = 1 << 20  # bytes of content in a chunk
TAG = 16
FEWEST_CHARACTERS = 8
_SALT, _CHECK, _PREFIX = 16, 16, 7
HEADER = len(MAGIC) + _SALT + _CHECK + _PREFIX
_COST = {"n": 1 << 16, "r": 8, "p": 1, "maxmem": 1 << 27}  # 64 MB and about a quarter of a second a guess


class PassphraseNeeded(StorageError):
    """A backup is encrypted, and no passphrase or another one was given."""


def is_encrypted(start: bytes) -> bool:
    """Return True for the first bytes of an encrypted backup."""
    return start.startswith(MAGIC)


class EncryptingWriter:
    """File to write to: encrypts into `file` and counts the bytes of the content."""

    def __init__(self, file: IO[bytes], passphrase: str):
        if len(passphrase) < FEWEST_CHARACTERS:
            raise PassphraseNeeded(
                N_(
                    "The passphrase has {number} characters. Choose one of at least {fewest_characters}, "
                    "and keep it apart from the backup: without it nobody can read it.",
                    number=len(passphrase),
                    fewest_characters=FEWEST_CHARACTERS,
                )
            )
        salt, prefix = os.urandom(_SALT), os.urandom(_PREFIX)
        key, check = _derived(passphrase, salt)
        header = MAGIC + salt + check + prefix
        self._file, self._cipher = file, _ChunkCipher(key, header)
        self._waiting, self._written = bytearray(), 0
        file.write(header)

    def write(self, content: bytes) -> int:
        """Encrypt some content."""
        self._waiting += content
        self._written += len(content)
        while len(self._waiting) > CHUNK:  # the last chunk is written by `finish`
            self._file.write(self._cipher.seal(bytes(self._waiting[:CHUNK]), last=False))
            del self._waiting[:CHUNK]
        return len(content)

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._written

    def finish(self) -> None:
        """Write the last chunk, without which the file counts as cut off."""
        self._file.write(self._cipher.seal(bytes(self._waiting), last=True))


class DecryptingReader:
    """File to read from: decrypts `file`; raises PassphraseNeeded, or StorageError where it was changed."""

    def __init__(self, file: IO[bytes], passphrase: str, name: str):
        header = file.read(HEADER)
        if len(header) < HEADER:
            raise StorageError(N_("{name} ends within its first bytes. Take another backup.", name=name))
        salt = header[len(MAGIC) : len(MAGIC) + _SALT]
        key, check = _derived(passphrase, salt)
        if not hmac.compare_digest(check, header[len(MAGIC) + _SALT : -_PREFIX]):
            raise PassphraseNeeded(
                N_("This is not the passphrase of {name}. Nothing was changed. Try another.", name=name)
            )
        self._file, self._cipher, self._name = file, _ChunkCipher(key, header), name
        self._next = file.read(CHUNK + TAG)
        self._ready, self._ended = b"", False

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes of the content; everything where it is negative."""
        parts: list[bytes] = []
        left = size
        while left != 0 and (self._ready or self._advance()):
            part = self._ready if left < 0 else self._ready[:left]
            self._ready = self._ready[len(part) :]
            parts.append(part)
            left = left if left < 0 else left - len(part)
        return b"".join(parts)

    def drain(self) -> None:
        """Read to the end, so that every chunk is checked."""
        while self.read(CHUNK):
            pass

    def _advance(self) -> bool:
        """Decrypt the next chunk; return False at the end."""
        while not self._ready and not self._ended:
            chunk, self._next = self._next, self._file.read(CHUNK + TAG)
            self._ended = not self._next
            self._ready = self._cipher.opened(chunk, last=self._ended, name=self._name)
        return bool(self._ready)


class _ChunkCipher:
    """AES-256-GCM over numbered chunks of one file."""

    def __init__(self, key: bytes, header: bytes):
        try:
            from cryptography.exceptions import InvalidTag
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ModuleNotFoundError as error:
            raise StorageError(
                N_(
                    "Encrypted backups need a package that is not installed: pip install "
                    "'footnote[encryption]'."
                )
            ) from error
        self._cipher: Any = AESGCM(key)
        self._wrong: type[Exception] = InvalidTag
        self._header, self._number = header, 0

    def seal(self, content: bytes, *, last: bool) -> bytes:
        """Encrypt the next chunk."""
        sealed: bytes = self._cipher.encrypt(self._nonce(last=last), content, self._header)
        return sealed

    def opened(self, chunk: bytes, *, last: bool, name: str) -> bytes:
        """Decrypt the next chunk."""
        try:
            content: bytes = self._cipher.decrypt(self._nonce(last=last), chunk, self._header)
        except self._wrong as error:
            raise StorageError(
                N_(
                    "{name} was changed or cut off after it was written. Nothing was changed here. Take "
                    "another backup.",
                    name=name,
                )
            ) from error
        return content

    def _nonce(self, *, last: bool) -> bytes:
        number, self._number = self._number, self._number + 1
        return self._header[-_PREFIX:] + number.to_bytes(4, "big") + bytes([last])


def _derived(passphrase: str, salt: bytes) -> tuple[bytes, bytes]:
    """Return the key, and what tells the right passphrase from another without telling the key."""
    made = hashlib.scrypt(passphrase.encode("utf-8", "surrogatepass"), salt=salt, dklen=64, **_COST)
    return made[:32], hashlib.sha256(made[32:]).digest()[:_CHECK]
