"""Listing events."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, TypedDict
from urllib.parse import urlencode

from ._event import iso_string, tag_strings


class _StoredEvent(TypedDict):
    id: str
    name: str
    channelId: str
    userId: str
    notify: bool
    tags: Dict[str, str]
    #: ISO 8601 in UTC, with milliseconds.
    createdAt: str


class Event(_StoredEvent, total=False):
    """A stored event. ``icon``, ``event`` and ``description`` are there if they were sent."""

    icon: str
    event: str
    description: str


class Page(NamedTuple):
    events: List[Event]
    #: The cursor of the next page; None on the last page and without ``limit``.
    next_cursor: Optional[str]


_NAMES = {"user_id": "userId", "from_": "from"}


def query_of(filters: Mapping[str, Any]) -> str:
    """The filters as a query string, with the question mark."""
    query: dict[str, str] = {}
    for name, value in filters.items():
        if value is None or name == "tags":
            continue
        if isinstance(value, bool):
            text = "true" if value else "false"
        elif isinstance(value, datetime):
            text = iso_string(value)
        else:
            text = str(value)
        query[_NAMES.get(name, name)] = text
    for key, text in tag_strings(filters.get("tags") or {}).items():
        query[f"tag.{key}"] = text
    return f"?{urlencode(query)}" if query else ""
