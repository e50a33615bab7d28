"""The client of one project."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence

from ._drops import Drops, OnError
from ._errors import ResponseError, TidingsError, problem_error
from ._event import Item, TagValue, event_item, group_item, next_event_id, properties_item
from ._journal import Journal
from ._live import LiveEvents
from ._queue import Queue
from ._reader import FILTERS, LIVE_FILTERS, Event, Filters, LiveFilters, Page, Time, check_filters, query_of
from ._request import attempt, request

if TYPE_CHECKING:
    # Type checkers have it; in the standard library, it is new in Python 3.11.
    from typing_extensions import Unpack

_VERSION = "0.1.0"
_MEGABYTE = 1_048_576
_PAGE_EVENTS = 1_000

BeforeSend = Callable[[Dict[str, Any]], Optional[Dict[str, Any]]]


class Client:
    """Sends events in the background and reads them. One for each project and process; threads can share it.

    Raises ``ValueError`` for invalid options.

    :param base_url: address of Tidings. It can have a path.
    :param api_key: the project's API key, ``tdg_sk_…``
    :param on_error: called with events that will not be sent, the reason, and the error if there is one. It may run in
        another thread. By default, a warning is logged.
    :param before_send: changes an event before it is sent, for example to remove personal data. None drops it.
    :param offline_dir: a directory that keeps events until the server has stored them, also after the end of the
        process. The next process that uses it sends them. Give each project its own.
    :param offline_max_bytes: of all files in that directory
    :param batch_events: sends when this many events are waiting
    :param batch_seconds: sends at the latest after this time
    :param queue_max: events that can wait, for example while the server is down. Others are dropped.
    :param retries: attempts after the first, of reading requests and of ``flush``
    :param timeout: seconds for each attempt
    :param exit_seconds: how long the end of the process may take to send what is left
    :param disabled: sends and reads nothing, for tests
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        on_error: OnError | None = None,
        before_send: BeforeSend | None = None,
        offline_dir: str | None = None,
        offline_max_bytes: int = 16 * _MEGABYTE,
        batch_events: int = 20,
        batch_seconds: float = 3.0,
        queue_max: int = 10_000,
        retries: int = 4,
        timeout: float = 10.0,
        exit_seconds: float = 10.0,
        disabled: bool = False,
    ) -> None:
        if not isinstance(base_url, str) or not re.fullmatch(r"https?://[^/?#\s]+[^?#\s]*", base_url, re.IGNORECASE):
            raise ValueError("`base_url` must be the address of Tidings, such as https://tidings.example.com.")
        if not isinstance(api_key, str) or not re.fullmatch(r"[\x21-\x7e]+", api_key):
            raise ValueError("`api_key` must be a Tidings API key, such as tdg_sk_…, without spaces.")
        limits = {
            "offline_max_bytes": offline_max_bytes,
            "batch_events": batch_events,
            "batch_seconds": batch_seconds,
            "queue_max": queue_max,
            "timeout": timeout,
        }
        for name, limit in limits.items():
            if not limit > 0:
                raise ValueError(f"`{name}` must be greater than 0.")
        if retries < 0 or exit_seconds < 0:
            raise ValueError("`retries` and `exit_seconds` must be 0 or more.")
        self._base_url = base_url.rstrip("/")
        self._headers = {"x-api-key": api_key, "user-agent": f"tidings-python/{_VERSION}"}
        self._before_send = before_send
        self._retries = retries
        self._timeout = timeout
        self._disabled = disabled
        journal = None
        if offline_dir is not None and not disabled:
            journal = Journal(offline_dir, offline_max_bytes, queue_max)
        self._drops = Drops(on_error)
        self._queue = Queue(
            self._send, self._drops, journal, batch_events, batch_seconds, queue_max, retries, exit_seconds
        )
        if journal:
            # What an earlier process left behind is sent even if nothing is tracked.
            self._queue.start()

    def track(
        self,
        channel: str,
        name: str,
        *,
        user_id: str | None = None,
        icon: str | None = None,
        notify: bool | None = None,
        tags: Mapping[str, TagValue] | None = None,
        description: str | None = None,
        created_at: Time | None = None,
        event: str | None = None,
        id: str | None = None,
    ) -> str | None:
        """Queues an event and returns at once. Never raises; what can't be sent is passed to ``on_error``.

        Returns the event's id, or None if it was dropped.

        :param notify: notifies the project's members
        :param tags: numbers, booleans, dates and UUIDs are sent as strings, and None is omitted
        :param description: Markdown
        :param created_at: when it happened, if not now: a datetime, ISO 8601 with an offset, or milliseconds since 1970
        :param event: a second name, stored in addition to ``name``
        :param id: your own UUIDv7, to send the same event again
        """
        body: dict[str, Any] = {
            "id": id,
            "channel": channel,
            "name": name,
            "event": event,
            "userId": user_id,
            "icon": icon,
            "notify": notify,
            "tags": tags,
            "description": description,
            "createdAt": created_at,
        }
        try:
            body["id"] = body["id"] or next_event_id()
            if body["createdAt"] is None:
                body["createdAt"] = _now_ms()
            kept = self._before_send(body) if self._before_send else body
            if kept is None or self._disabled:
                return None
            item = event_item(kept)
            self._queue.add(item)
            return item.id
        except Exception as error:
            self._drops.report([body], "invalid", error)
            return None

    def identify(self, user_id: str, properties: Mapping[str, TagValue]) -> None:
        """Sets properties of a user, in the background, like ``track``. None removes one; all others stay.

        It needs a secret key with the scope ``ingest``.
        """
        try:
            item = properties_item(user_id, properties)
            if not self._disabled:
                self._queue.add(item)
        except Exception as error:
            self._drops.report([{"userId": user_id, "properties": properties}], "invalid", error)

    def group(
        self,
        type: str,
        id: str,
        properties: Mapping[str, TagValue] | None = None,
        *,
        user_id: str | None = None,
    ) -> None:
        """Saves a group of users, such as a company, in the background, like ``track``. Creates it if it is new.

        It needs a secret key with the scope ``ingest``.

        :param type: such as ``company`` or ``team``
        :param id: the ID that your application gives the group
        :param properties: None removes one; all others stay
        :param user_id: becomes a member of the group
        """
        try:
            item = group_item(type, id, properties, user_id)
            if not self._disabled:
                self._queue.add(item)
        except Exception as error:
            group = {"type": type, "id": id, "properties": properties, "userId": user_id}
            self._drops.report([group], "invalid", error)

    def flush(self, timeout: float = 10.0) -> bool:
        """Sends what was tracked before, and waits. Returns False if some of it is still waiting after all retries."""
        return self._queue.flush(timeout)

    def close(self, timeout: float = 10.0) -> bool:
        """Flushes, and drops what can't be sent in time, unless ``offline_dir`` keeps it.

        A process that ends by itself calls it. Call it where one is stopped by a signal, and in processes of
        ``multiprocessing``.
        """
        return self._queue.close(timeout)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def list(self, *, limit: int | None = None, cursor: str | None = None, **filters: Unpack[Filters]) -> Page:
        """Lists events, newest first. Without ``limit``, all of them. Raises ``TidingsError``.

        :param limit: events of the page, up to 1,000
        :param cursor: ``next_cursor`` of the page before
        :param filters: as in ``Filters``, such as ``channel="payments"`` or ``q="pay* -plan=free"``
        """
        check_filters(filters, FILTERS)
        return self._list({**filters, "limit": limit, "cursor": cursor})

    def events(self, **filters: Unpack[Filters]) -> Iterator[Event]:
        """Iterates over all matching events, page by page. Raises ``TidingsError``.

        :param filters: as in ``Filters``
        """
        check_filters(filters, FILTERS)
        return self._pages(filters)

    def live(
        self,
        *,
        last_event_id: str | None = None,
        on_reset: Callable[[], None] | None = None,
        on_deleted: Callable[[Dict[str, Any]], None] | None = None,
        idle_timeout: float = 40.0,
        **filters: Unpack[LiveFilters],
    ) -> LiveEvents:
        """Iterates over new events as they arrive, without end, and without gaps or duplicates after a lost connection.

        :param last_event_id: starts after this event: the ``last_event_id`` of an earlier stream
        :param on_reset: called if events were missed, because the stream was disconnected for too long: list them
        :param on_deleted: called when events were deleted, whether or not they match
        :param idle_timeout: reconnects after this many seconds of silence. The server sends something every 15 seconds.
        :param filters: as in ``LiveFilters``
        """
        check_filters(filters, LIVE_FILTERS)
        url = f"{self._base_url}/api/events/stream{query_of(filters)}"
        stream = LiveEvents(url, self._headers, last_event_id, on_reset, on_deleted, idle_timeout)
        if self._disabled:
            stream.close()
        return stream

    def _list(self, filters: Mapping[str, Any]) -> Page:
        if self._disabled:
            return Page([], None)
        url = f"{self._base_url}/api/events{query_of(filters)}"
        content = request("GET", url, self._headers, None, self._timeout, self._retries)
        return Page(content["events"], content.get("nextCursor"))

    def _pages(self, filters: Mapping[str, Any]) -> Iterator[Event]:
        cursor: str | None = None
        while True:
            page = self._list({"limit": _PAGE_EVENTS, **filters, "cursor": cursor})
            yield from page.events
            cursor = page.next_cursor
            if cursor is None:
                return

    def _send(self, items: Sequence[Item]) -> List[Optional[TidingsError]]:
        headers = {"content-type": "application/json", **self._headers}
        if items[0].path:
            attempt(items[0].method, self._base_url + items[0].path, headers, items[0].json, self._timeout)
            return [None]
        body = b"[" + b",".join(item.json for item in items) + b"]"
        content = attempt(
            "POST", f"{self._base_url}/api/events", headers, body, self._timeout, results=len(items)
        )
        return [_result_error(result) for result in content["results"]]


def _result_error(result: Any) -> ResponseError | None:
    if isinstance(result, dict) and result.get("ok") is True:
        return None
    status = result.get("status") if isinstance(result, dict) else None
    return problem_error(status if isinstance(status, int) else 422, result)


def _now_ms() -> int:
    return int(time.time() * 1000)
