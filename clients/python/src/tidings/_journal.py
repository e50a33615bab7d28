"""Keeps what is waiting in a file, until the server has stored it."""

from __future__ import annotations

import json
import logging
import os
import uuid
from collections import deque
from pathlib import Path
from typing import IO, Callable, Iterable, TypeVar

from ._event import Item

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger("tidings")

Result = TypeVar("Result")

_SUFFIX = ".events"


class Journal:
    """A file for each process, in a directory that they share.

    Its owner holds a lock on it. A file without one belonged to a process that has ended, and another process takes
    over its items. An item that was sent and is still in the file is sent again with its id, and so stored once.

    Only the queue's thread uses it. A file that can't be written is logged, and events then wait in memory alone.

    :param max_bytes: of all files in the directory
    :param max_items: how many items of other processes are taken over at once
    """

    def __init__(self, directory: str | os.PathLike[str], max_bytes: int, max_items: int) -> None:
        self._directory = Path(directory)
        self._max_bytes = max_bytes
        self._max_items = max_items
        self._file: IO[bytes] | None = None
        self._is_broken = fcntl is None
        if fcntl is None:
            logger.warning("Events are not kept in files: this system has no locks (fcntl).")
        self.reset()

    def reset(self) -> None:
        """Begins anew in a forked process, which has its own file."""
        if self._file:
            self._file.close()
        self._file = None
        self._size = 0
        self._others_size = 0
        #: Items that are waiting, but not in the file, because it is full.
        self._unkept: set[str] = set()
        self._is_full = False
        self._has_more = False

    def open(self) -> list[Item]:
        """Returns what ended processes left behind. It is in their files until ``append`` has it."""
        return self._attempt(self._adopt) or []

    def append(self, items: list[Item], pending: Iterable[Item]) -> None:
        self._unkept.update(item.id for item in items)
        self._attempt(lambda: self._write(items, pending))

    def settle(self, is_waiting: bool) -> list[Item]:
        """Forgets what is sent, once nothing is waiting. Returns what others left behind, if it was too much before."""
        self._is_full = False
        if is_waiting:
            return []
        self._unkept.clear()
        self._attempt(self._truncate)
        return self.open() if self._has_more else []

    def close(self, pending: deque[Item]) -> list[Item]:
        """Leaves what is waiting to the next process. Returns what has no room."""
        if pending and self._unkept:
            self._attempt(lambda: self._rewrite(pending))
        unkept = [item for item in pending if self._file is None or item.id in self._unkept]
        if self._file:
            if not pending:
                Path(self._file.name).unlink(missing_ok=True)
            self._file.close()
            self._file = None
        return unkept

    def _write(self, items: list[Item], pending: Iterable[Item]) -> None:
        if self._is_full:
            return
        size = sum(len(_line_of(item)) for item in items)
        if self._size + size > self._room():
            # Most of the file may have been sent.
            waiting = sum(len(_line_of(item)) for item in pending)
            self._is_full = waiting + size > self._room() or waiting > self._size / 2
            if self._is_full:
                return
            self._rewrite(pending)
        self._write_lines(items)

    def _write_lines(self, items: list[Item]) -> None:
        if self._file is None:
            self._file = self._create()
        lines = b"".join(map(_line_of, items))
        self._file.write(lines)
        self._size += len(lines)
        self._unkept.difference_update(item.id for item in items)

    def _rewrite(self, pending: Iterable[Item]) -> None:
        """Writes what is waiting to a new file, as far as there is room."""
        old = self._file
        self._file, self._size = self._create(), 0
        for item in pending:
            line = _line_of(item)
            self._unkept.add(item.id)
            if self._size + len(line) <= self._room():
                self._file.write(line)
                self._size += len(line)
                self._unkept.discard(item.id)
        if old:
            Path(old.name).unlink(missing_ok=True)
            old.close()

    def _truncate(self) -> None:
        if self._file:
            self._file.seek(0)
            self._file.truncate()
            self._size = 0

    def _room(self) -> int:
        return self._max_bytes - self._others_size

    def _create(self) -> IO[bytes]:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            path = self._directory / f"{os.getpid()}-{uuid.uuid4().hex[:12]}{_SUFFIX}"
            # Events can have personal data. Without a buffer, a line is in the file once it is written.
            file = open(path, "xb", buffering=0, opener=lambda name, flags: os.open(name, flags, 0o600))
            if _lock(file) and os.fstat(file.fileno()).st_nlink > 0:
                return file
            # Another process took it for one without an owner.
            file.close()

    def _adopt(self) -> list[Item]:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        items: list[Item] = []
        self._others_size, self._has_more = 0, False
        own = self._file.name if self._file else None
        for path in sorted(self._directory.glob(f"*{_SUFFIX}")):
            if str(path) == own:
                continue
            try:
                with open(path, "rb") as file:
                    if not _lock(file) or os.fstat(file.fileno()).st_nlink == 0:
                        self._others_size += os.fstat(file.fileno()).st_size
                        continue
                    found = [item for line in file if (item := _item_of(line))]
                    if items and len(items) + len(found) > self._max_items:
                        self._has_more = True
                        self._others_size += path.stat().st_size
                        continue
                    # Whether or not there is room: what moves from one file to another takes no more.
                    self._write_lines(found)
                    items += found
                    path.unlink()
            except FileNotFoundError:
                # Another process was faster.
                continue
        return items

    def _attempt(self, work: Callable[[], Result]) -> Result | None:
        if self._is_broken:
            return None
        try:
            return work()
        except OSError as error:
            self._is_broken = True
            logger.warning("Events are not kept in files any more: %s", error)
            return None


def _lock(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False


def _line_of(item: Item) -> bytes:
    """JSON has no line ends, and paths no spaces."""
    if item.path == "":
        return b"%b\n" % item.json
    return b"%b %b %b\n" % (item.path.encode(), json.dumps(item.id).encode(), item.json)


def _item_of(line: bytes) -> Item | None:
    """None if the process was killed before it had written the line."""
    if not line.endswith(b"\n"):
        return None
    try:
        if line.startswith(b"{"):
            return Item(json.loads(line)["id"], line[:-1])
        path, _, rest = line[:-1].decode().partition(" ")
        user_id, end = json.JSONDecoder().raw_decode(rest)
        return Item(user_id, rest[end + 1 :].encode(), path)
    except (ValueError, KeyError):
        return None
