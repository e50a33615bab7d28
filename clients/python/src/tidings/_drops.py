"""Reports of events that will not be sent."""

from __future__ import annotations

import logging
import threading
from typing import Any, Callable, Dict, List, Literal, Optional, Sequence

from ._event import Item

#: Why events were dropped:
#:
#: - ``invalid``: a tag or time can't be converted, or ``before_send`` raised; the event is as it was passed.
#: - ``queue-full``: ``queue_max`` events were waiting.
#: - ``rejected``: the server rejected the event or the key.
#: - ``undeliverable``: the server could not be reached before ``close`` or the end of the process.
#: - ``closed``: tracked after ``close``.
DropReason = Literal["invalid", "queue-full", "rejected", "undeliverable", "closed"]
OnError = Callable[[List[Dict[str, Any]], DropReason, Optional[Exception]], None]

logger = logging.getLogger("tidings")

_thread = threading.local()


def is_reporting() -> bool:
    """Whether this thread is in ``on_error``."""
    return getattr(_thread, "is_reporting", False)


class Drops:
    """Passes dropped events on. Never raises."""

    def __init__(self, on_error: OnError | None) -> None:
        self._on_error = on_error

    def add(self, items: Sequence[Item], reason: DropReason, error: Exception | None = None) -> None:
        self.report([item.content() for item in items], reason, error)

    def report(self, events: list[dict[str, Any]], reason: DropReason, error: Exception | None = None) -> None:
        was_reporting = is_reporting()
        _thread.is_reporting = True
        try:
            if self._on_error:
                self._on_error(events, reason, error)
            else:
                logger.warning("%d events dropped (%s). %s", len(events), reason, error or "")
        except Exception:
            logger.exception("`on_error` raised.")
        finally:
            _thread.is_reporting = was_reporting
