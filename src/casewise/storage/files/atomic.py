"""Writing so that a reader finds the old file or the new one, and never half of one."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from casewise.errors import ConfigurationError, DataError

__all__ = [
    "cannot_add",
    "cannot_read",
    "cannot_write",
    "current_umask",
    "for_owner_alone",
    "read_text",
    "replacing",
    "write_text",
]

OS_ERROR = re.compile(r"\(os error (\d+)\)")
"""How a library in Rust says an error of the system, in an exception of its own."""


@contextmanager
def replacing(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """A file to write to that becomes `path` when the block ends well, and disappears when it does not; only its owner may
    read a `private` one (0600), as all that holds chatbots' replies.

    Raises ConfigurationError: the folder is not writable, or the disk is full; `path` is as it was.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o600 if private else 0o666 & ~current_umask())
        Path(name).replace(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    except Exception as error:
        if (found := OS_ERROR.search(str(error))) is None:
            raise
        raise cannot_write(path, OSError(int(found[1]), os.strerror(int(found[1])))) from error
    finally:
        with suppress(OSError):
            Path(name).unlink()


@contextmanager
def for_owner_alone() -> Iterator[None]:
    """Files that the block makes are for their owner alone from the start (0600), and folders too (0700)."""
    mask = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(mask)


def cannot_write(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"cannot write {path}: {error.strerror or error}; choose another place or make room, nothing was changed there"
    )


def cannot_add(path: Path, error: OSError) -> ConfigurationError:
    """The same of a file that lines are added to."""
    return ConfigurationError(
        f"cannot write {path}: {error.strerror or error}; what it holds is kept: make room, and run the same again"
    )


def cannot_read(path: Path, error: OSError) -> DataError:
    return DataError(path, None, f"cannot be read: {error.strerror or error}")


def current_umask() -> int:
    """What new files and folders are not allowed."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Write `text` to `path` in UTF-8, whole or not at all; `private` as of `replacing`."""
    with replacing(path, private=private) as file:
        file.write(text.encode("utf-8"))


def read_text(path: Path) -> str:
    """The text of a UTF-8 file.

    Raises DataError: the file cannot be read, or its bytes are no UTF-8; the message names the line.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise cannot_read(path, error) from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        problem = f"byte 0x{raw[error.start]:02x} is not UTF-8; save the file as UTF-8 (it may be Windows-1252)"
        raise DataError(path, line, problem) from error
