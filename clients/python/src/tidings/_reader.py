"""Listing events."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Dict, FrozenSet, List, Mapping, NamedTuple, Optional, TypedDict, Union
from urllib.parse import urlencode

from ._event import TagValue, iso_string, tag_strings

Time = Union[datetime, str, int]


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


class LiveFilters(TypedDict, total=False):
    """Which events a live stream has. An event must match all."""

    channel: Optional[str]
    user_id: Optional[str]
    name: Optional[str]
    notify: Optional[bool]
    #: A search, such as ``pay* -plan=free``.
    q: Optional[str]
    tags: Optional[Mapping[str, TagValue]]


class Filters(LiveFilters, total=False):
    """Which events are listed, and in which order. An event must match all."""

    #: Inclusive: a datetime, ISO 8601 with an offset, or milliseconds since 1970.
    from_: Optional[Time]
    #: Exclusive.
    to: Optional[Time]
    #: ``desc`` (newest first, the default) or ``asc``.
    order: Optional[str]


LIVE_FILTERS: FrozenSet[str] = LiveFilters.__optional_keys__
FILTERS: FrozenSet[str] = Filters.__optional_keys__

_NAMES = {"user_id": "userId", "from_": "from"}


def check_filters(filters: Mapping[str, Any], known: FrozenSet[str]) -> None:
    """Raises ``TypeError`` for a filter that there isn't."""
    for name in filters:
        if name not in known:
            raise TypeError(f"There is no filter {name!r}, but {', '.join(sorted(known))}.")


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
