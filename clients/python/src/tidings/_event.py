"""Events and users' properties, as they are sent."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any, Callable, Mapping, NamedTuple, Union
from urllib.parse import quote
from uuid import UUID

#: Sent as a string. None is omitted.
TagValue = Union[str, int, float, bool, Decimal, datetime, date, UUID, None]

_COUNTER_MAX = 0xFFF
_COUNTER_SEED_BITS = 11


#: Where groups are saved.
GROUPS_PATH = "/api/groups"


class Item(NamedTuple):
    """What the queue sends: an event, properties of a user, or a group."""

    id: str
    #: UTF-8. The same bytes are sent each time.
    json: bytes
    #: The path of the user's properties, or of groups; empty for an event.
    path: str = ""

    def content(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.json)
        return {"userId": self.id, "properties": content} if self.method == "PATCH" else content

    @property
    def method(self) -> str:
        return "POST" if self.path in ("", GROUPS_PATH) else "PATCH"


class EventIds:
    """Makes event ids: UUIDv7 (RFC 9562, section 5.7), each greater than the one before.

    Within a millisecond, and when the clock is set back, the 12 bits of ``rand_a`` count up from a random seed (section
    6.2, method 1). If they are used up, the timestamp runs a millisecond ahead. 62 random bits follow.
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._last_ms = -1
        self._counter = 0
        self.renew()

    def renew(self) -> None:
        """Begins anew in a forked process, which would otherwise make the ids of its parent."""
        self._lock = threading.Lock()
        # Ids must be unique, not secret. Asking the system for each would hand the interpreter to another thread.
        self._random = random.Random(os.urandom(32))

    def __call__(self) -> str:
        with self._lock:
            ms = int(self._now() * 1000)
            if ms > self._last_ms:
                self._last_ms, self._counter = ms, self._random.getrandbits(_COUNTER_SEED_BITS)
            elif self._counter < _COUNTER_MAX:
                self._counter += 1
            else:
                self._last_ms += 1
                self._counter = self._random.getrandbits(_COUNTER_SEED_BITS)
            head = self._last_ms << 16 | 0x7000 | self._counter
            tail = 1 << 63 | self._random.getrandbits(62)
        digits = f"{head:016x}{tail:016x}"
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


next_event_id = EventIds()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=next_event_id.renew)


def event_item(event: Mapping[str, Any]) -> Item:
    """An event ready to send. Raises ``TypeError`` and ``ValueError`` for what can't be converted."""
    body = {name: value for name, value in event.items() if value is not None}
    body.setdefault("id", next_event_id())
    if "createdAt" in body:
        body["createdAt"] = timestamp(body["createdAt"])
    if "tags" in body:
        body["tags"] = tag_strings(body["tags"])
    return Item(str(body["id"]), encode(body))


def properties_item(user_id: str, properties: Mapping[str, TagValue]) -> Item:
    # URLs lose the segments "." and "..", so the server takes them with a tilde.
    segment = f"~{user_id}" if user_id.lstrip("~") in (".", "..") else user_id
    return Item(user_id, encode(property_values(properties)), f"/api/users/{quote(segment, safe='')}")


def group_item(type: str, id: str, properties: Mapping[str, TagValue] | None, user_id: str | None) -> Item:
    body: dict[str, Any] = {"type": type, "id": id}
    if properties is not None:
        body["properties"] = property_values(properties)
    if user_id is not None:
        body["userId"] = user_id
    return Item(id, encode(body), GROUPS_PATH)


def property_values(properties: Mapping[str, TagValue]) -> dict[str, Any]:
    return {
        key: value if isinstance(value, (str, bool, int, float)) or value is None else tag_string(key, value)
        for key, value in properties.items()
    }


def encode(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def tag_strings(tags: Mapping[str, TagValue]) -> dict[str, str]:
    return {str(key): tag_string(key, value) for key, value in tags.items() if value is not None}


def tag_string(key: str, value: TagValue) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return iso_string(value)
    if isinstance(value, (int, float, Decimal, date, UUID)):
        return str(value)
    raise TypeError(f'The tag "{key}" is {type(value).__name__}. Send a str, number, bool or datetime.')


def timestamp(time: datetime | str | float) -> str | int:
    """A time as the server takes it: ISO 8601, or milliseconds since 1970."""
    if isinstance(time, datetime):
        return iso_string(time)
    return time if isinstance(time, str) else int(time)


def iso_string(time: datetime) -> str:
    """ISO 8601 in UTC. A time without a zone is local."""
    return time.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
