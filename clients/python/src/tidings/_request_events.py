"""Events of requests that an application served."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Callable, Generic, Mapping, Optional, TypeVar

from ._event import TagValue
from ._event_text import TAG_VALUE_MAX, fit_lines
from .client import Client

logger = logging.getLogger("tidings")
Request = TypeVar("Request")


@dataclass
class FinishedRequest:
    method: str
    #: The route's pattern, such as ``/orders/<int:id>``; paths can have personal data.
    route: str | None
    status: int
    seconds: float
    error: BaseException | None = None


@dataclass
class RequestReports(Generic[Request]):
    """Which requests are reported, and with what. See ``report`` for the events."""

    client: Client
    channel: str = "requests"
    #: Reports only requests that failed: with an exception, or a status from 500. With ``slow_ms``, slow ones too.
    only_failed: bool = False
    #: Requests that took at least this many milliseconds have the name "Request slow".
    slow_ms: float | None = None
    #: Requests not to report, such as health checks.
    ignore: Optional[Callable[[Request], bool]] = None
    #: The user of your application who sent the request.
    user_id: Optional[Callable[[Request], Optional[str]]] = None
    #: Further tags.
    tags: Optional[Callable[[Request], Mapping[str, TagValue]]] = None

    def report(self, request: Request, finished: FinishedRequest) -> None:
        """Tracks "Request failed", "Request slow" or "Request finished". Never raises."""
        try:
            ms = round(finished.seconds * 1000)
            is_failed = finished.status >= 500
            is_slow = self.slow_ms is not None and ms >= self.slow_ms
            if self.only_failed and not is_failed and not is_slow:
                return
            if self.ignore and self.ignore(request):
                return
            tags: dict[str, Any] = {
                "method": finished.method,
                "route": finished.route,
                "status": finished.status,
                "durationMs": ms,
            }
            if is_failed and finished.error:
                text = f"{type(finished.error).__name__}: {finished.error}"
                tags["error"] = fit_lines(text, TAG_VALUE_MAX)
            if self.tags:
                tags.update(self.tags(request))
            name = "Request failed" if is_failed else "Request slow" if is_slow else "Request finished"
            user_id = self.user_id(request) if self.user_id else None
            self.client.track(self.channel, name, user_id=user_id, tags=tags)
        except Exception:
            logger.exception("A request could not be reported.")
