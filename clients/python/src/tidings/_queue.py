"""The queue of what is sent in the background."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections import deque
from typing import Any, Callable, List, NamedTuple, Optional, Sequence

from ._drops import Drops
from ._errors import ResponseError, TidingsError, is_temporary
from ._event import Item
from ._journal import Journal
from ._lifetime import watch
from ._request import RETRY_AFTER_MAX, backoff, requested_wait

#: Sends items in one request. Returns an error, or None, for each.
Send = Callable[[Sequence[Item]], List[Optional[TidingsError]]]

#: Of one request, if more events are waiting than ``batch_events``.
_REQUEST_EVENTS = 1000
_REQUEST_BYTES = 1_000_000
#: The longest wait between two attempts, in seconds.
_PAUSE_MAX = 30.0
#: How often the thread looks for new items while there are some, in seconds.
_POLL_SECONDS = 0.05
#: For keeping or reporting what is left, in seconds.
_END_SECONDS = 2.0


class _Sent(NamedTuple):
    items: list[Item]
    errors: list[TidingsError | None]


class _Flush:
    def __init__(self, last: bool, attempts: int) -> None:
        self.done = threading.Event()
        self.is_sent = False
        #: Whether the queue ends after it.
        self.last = last
        self.attempts_left = attempts
        #: How many items must be settled.
        self.target = 0


class Queue:
    """Sends items in order, one request at a time.

    One thread owns the state and never waits for the network, so what is tracked is kept in the journal at once;
    another sends. Both talk through queues that never block who adds to them.
    """

    def __init__(
        self,
        send: Send,
        drops: Drops,
        journal: Journal | None,
        batch_events: int,
        batch_seconds: float,
        queue_max: int,
        retries: int,
        exit_seconds: float,
    ) -> None:
        self._send = send
        self._drops = drops
        self._journal = journal
        self._batch_events = batch_events
        self._batch_seconds = batch_seconds
        self._queue_max = queue_max
        self._retries = retries
        self.exit_seconds = exit_seconds
        self._request_bytes = _REQUEST_BYTES
        self.is_closed = False
        self.reset()
        watch(self)

    def reset(self) -> None:
        """Begins anew in a forked process: its parent sends what was waiting."""
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._requests: queue.SimpleQueue[list[Item] | None] = queue.SimpleQueue()
        #: What the thread has not seen yet. To wake it for each item would interrupt the application as often.
        self._incoming: deque[Item] = deque()
        self._is_idle = True
        self._start_lock = threading.Lock()
        self._is_started = False
        self._thread_id = 0
        #: Neither stored nor dropped, in order, and the part of it that is being sent.
        self._pending: deque[Item] = deque()
        self._in_flight = 0
        self._added = 0
        self._settled = 0
        self._flushes: list[_Flush] = []
        self._send_at: float | None = None
        self._failures = 0
        self._last_error: TidingsError | None = None
        if self._journal:
            self._journal.reset()

    def start(self) -> None:
        with self._start_lock:
            if self._is_started:
                return
            for name, target in (("tidings-queue", self._run), ("tidings-sender", self._run_sender)):
                threading.Thread(target=target, name=name, daemon=True).start()
            self._is_started = True

    def add(self, item: Item) -> None:
        """Returns at once: it neither waits for a lock that is held long, nor for a file or the network."""
        if self.is_closed:
            self._drops.add([item], "closed")
        elif len(self._pending) + len(self._incoming) >= self._queue_max:
            self._drops.add([item], "queue-full", self._last_error)
        else:
            if not self._is_started:
                self.start()
            self._incoming.append(item)
            if self._is_idle:
                self._is_idle = False
                self._inbox.put(None)

    def flush(self, timeout: float, last: bool = False) -> bool:
        """Sends what was added before. Returns whether all of it is settled."""
        if not self._is_started:
            return True
        if threading.get_ident() == self._thread_id:
            # `on_error` runs in the thread that it would wait for.
            return False
        flush = _Flush(last, self._retries)
        self._inbox.put(flush)
        if not flush.done.wait(timeout):
            flush.attempts_left = -1
            if last:
                # The thread wakes up, keeps or drops the rest, and ends.
                self._inbox.put(_Flush(False, -1))
                flush.done.wait(_END_SECONDS)
        return flush.is_sent

    def close(self, timeout: float) -> bool:
        """Flushes, and drops what can't be sent in time, unless it is kept for the next process."""
        if self.is_closed:
            return True
        self.is_closed = True
        return self.flush(timeout, last=True)

    def _run_sender(self) -> None:
        while (items := self._requests.get()) is not None:
            errors: list[TidingsError | None]
            try:
                errors = self._send(items)
            except TidingsError as error:
                errors = [error] * len(items)
            except Exception as error:  # A defect of this library must not end the thread.
                errors = [TidingsError(repr(error))] * len(items)
            self._inbox.put(_Sent(items, errors))

    def _run(self) -> None:
        self._thread_id = threading.get_ident()
        self._take(self._journal.open() if self._journal else [], is_kept=True)
        while True:
            try:
                messages = [self._inbox.get(timeout=self._wait())]
                while not self._inbox.empty():
                    messages.append(self._inbox.get_nowait())
            except queue.Empty:
                messages = []
            self._take([self._incoming.popleft() for _ in range(len(self._incoming))])
            for message in messages:
                if message is not None and self._handle(message):
                    return
            self._send_next()

    def _wait(self) -> float | None:
        """Seconds until something is to be done without a message; None if nothing is."""
        waits = []
        if self._incoming:
            self._is_idle = False
        if not self._is_idle:
            waits.append(_POLL_SECONDS)
        if self._send_at is not None and self._in_flight == 0:
            waits.append(max(0.0, self._send_at - time.monotonic()))
        return min(waits, default=None)

    def _take(self, items: list[Item], is_kept: bool = False) -> None:
        if not items:
            self._is_idle = True
            return
        if self._journal and not is_kept:
            self._journal.append(items, self._pending)
        self._pending.extend(items)
        self._added += len(items)
        if self._send_at is None:
            self._send_at = time.monotonic() + self._batch_seconds
        if len(self._pending) - self._in_flight >= self._batch_events and self._failures == 0:
            self._send_at = 0.0

    def _handle(self, message: _Flush | _Sent) -> bool:
        """Returns whether the queue ends."""
        if isinstance(message, _Sent):
            self._settle(message)
        else:
            message.target = self._added
            self._flushes.append(message)
            # What the server asked to wait is waited for, the rest of a pause is not.
            if self._pending and requested_wait(self._last_error) == 0:
                self._send_at = 0.0
        return self._finish_flushes()

    def _settle(self, sent: _Sent) -> None:
        self._in_flight = 0
        rejected: dict[TidingsError, list[Item]] = {}
        kept: list[Item] = []
        failure: TidingsError | None = None
        first = next((error for error in sent.errors if error), None)
        is_too_large = isinstance(first, ResponseError) and first.status == 413 and len(sent.items) > 1
        if is_too_large and all(error is first for error in sent.errors):
            # A proxy may accept less than the server does.
            self._request_bytes = max(1, sum(len(item.json) + 1 for item in sent.items) // 2)
            self._send_at = 0.0
            return
        for item, error in zip(sent.items, sent.errors):
            if error is None:
                continue
            if is_temporary(error):
                failure = error
                kept.append(item)
            else:
                rejected.setdefault(error, []).append(item)
        for _ in sent.items:
            self._pending.popleft()
        self._pending.extendleft(reversed(kept))
        self._settled += len(sent.items) - len(kept)
        if self._journal:
            self._take(self._journal.settle(bool(self._pending)), is_kept=True)
        for error, items in rejected.items():
            self._drops.add(items, "rejected", error)
        self._failures = self._failures + 1 if failure else 0
        self._last_error = failure
        self._plan_next(failure)

    def _plan_next(self, failure: TidingsError | None) -> None:
        now = time.monotonic()
        if not self._pending:
            self._send_at = None
        elif failure:
            wait = min(requested_wait(failure), RETRY_AFTER_MAX)
            self._send_at = now + wait + backoff(self._failures, _PAUSE_MAX)
            for flush in self._flushes:
                flush.attempts_left -= 1
        elif self._flushes or len(self._pending) >= self._batch_events:
            self._send_at = 0.0
        else:
            self._send_at = now + self._batch_seconds

    def _finish_flushes(self) -> bool:
        for flush in self._flushes[:]:
            is_sent = self._settled >= flush.target
            if not is_sent and flush.attempts_left >= 0:
                continue
            self._flushes.remove(flush)
            flush.is_sent = is_sent
            if not flush.last:
                flush.done.set()
                continue
            self._end()
            for each in [flush, *self._flushes]:
                each.done.set()
            return True
        return False

    def _end(self) -> None:
        self._requests.put(None)
        unkept = self._journal.close(self._pending) if self._journal else list(self._pending)
        if unkept:
            self._drops.add(unkept, "undeliverable", self._last_error)
        self._pending.clear()

    def _send_next(self) -> None:
        if self._in_flight or not self._pending or self._send_at is None or time.monotonic() < self._send_at:
            return
        items: list[Item] = []
        size = 0
        for item in itertools.islice(self._pending, _REQUEST_EVENTS):
            size += len(item.json) + 1
            # Properties of a user are a request of their own.
            if items and (size > self._request_bytes or item.path or items[0].path):
                break
            items.append(item)
        self._in_flight = len(items)
        self._requests.put(items)
