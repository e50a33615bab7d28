"""Queues at forks, and at the end of the process."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Protocol


class HasLifetime(Protocol):
    exit_seconds: float

    def reset(self) -> None: ...

    def close(self, timeout: float) -> bool: ...


_queues: weakref.WeakSet[HasLifetime] = weakref.WeakSet()


def watch(queue: HasLifetime) -> None:
    """Resets a queue in forked processes, and closes it when the process ends."""
    _queues.add(queue)


def _reset_all() -> None:
    for each in list(_queues):
        each.reset()


@atexit.register
def _close_all() -> None:
    for each in list(_queues):
        each.close(each.exit_seconds)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_all)
