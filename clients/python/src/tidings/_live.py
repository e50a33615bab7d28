"""Live streams (Server-Sent Events)."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from typing import Any, Callable, Iterator, Mapping

from ._errors import TidingsError, is_temporary
from ._reader import Event
from ._request import RESPONSE_BYTES, RETRY_AFTER_MAX, backoff, open_response, requested_wait, response_failure


class LiveEvents(Iterator[Event]):
    """New events as they arrive, without end. After a lost connection it reconnects where it was.

    Raises ``ResponseError`` if reconnecting is of no use, for example because the key was revoked.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        last_event_id: str | None,
        on_reset: Callable[[], None] | None,
        on_deleted: Callable[[dict[str, Any]], None] | None,
        idle_timeout: float,
    ) -> None:
        #: Where the stream is. To go on there later, for example after a restart, pass it to ``Client.live``.
        self.last_event_id = last_event_id
        self._url = url
        self._headers = headers
        self._on_reset = on_reset
        self._on_deleted = on_deleted
        self._idle_timeout = idle_timeout
        self._response: http.client.HTTPResponse | None = None
        self._closed = threading.Event()
        self._events = self._stream()

    def __next__(self) -> Event:
        return next(self._events)

    def __enter__(self) -> LiveEvents:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the stream, also from another thread."""
        self._closed.set()
        try:
            # Closing alone doesn't wake up a thread that reads.
            self._response.fp.raw._sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]
        except (AttributeError, OSError):
            # Not connected.
            pass

    def _stream(self) -> Iterator[Event]:
        failures = 0
        while not self._closed.is_set():
            wait = 0.0
            messages = self._messages()
            while True:
                try:
                    kind, data = next(messages)
                except TidingsError as error:
                    if not is_temporary(error):
                        raise
                    wait = min(requested_wait(error), RETRY_AFTER_MAX)
                    break
                except (StopIteration, http.client.HTTPException, OSError):
                    # The connection broke or is silent.
                    break
                failures = 0
                if kind == "event":
                    yield json.loads(data)
                elif kind == "reset" and self._on_reset:
                    self._on_reset()
                elif kind == "deleted" and self._on_deleted:
                    self._on_deleted(json.loads(data))
            failures += 1
            self._closed.wait(wait + backoff(failures))

    def _messages(self) -> Iterator[tuple[str, str]]:
        """The messages of one connection, until it breaks or is silent.

        They are as the server writes them, with one line for each field; the format allows more
        (https://html.spec.whatwg.org/multipage/server-sent-events.html).
        """
        headers = {**self._headers, "accept": "text/event-stream", "cache-control": "no-store"}
        if self.last_event_id is not None:
            headers["last-event-id"] = self.last_event_id
        with open_response("GET", self._url, headers, None, self._idle_timeout) as response:
            self._response = response
            if not (response.headers.get("content-type") or "").startswith("text/event-stream"):
                raise response_failure(response)
            fields: dict[str, str] = {}
            left = RESPONSE_BYTES
            while not self._closed.is_set() and (read := response.readline(left)):
                left -= len(read)
                if left <= 0:
                    raise OSError("the message is too long")
                line = read.decode()
                if line != "\n":
                    name, _, value = line.rstrip("\n").partition(":")
                    fields[name] = value[1:] if value.startswith(" ") else value
                    continue
                self.last_event_id = fields.get("id", self.last_event_id)
                yield fields.get("event", ""), fields.get("data", "")
                fields, left = {}, RESPONSE_BYTES

