"""Reports requests of FastAPI, Starlette and other ASGI applications."""

from __future__ import annotations

import time
from typing import Any, Awaitable, Callable, MutableMapping

from ._request_events import FinishedRequest, RequestReports
from .client import Client

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class ReportRequests:
    """Middleware that tracks an event for each request. Options: see ``RequestReports``; their functions get the scope.

    >>> app.add_middleware(ReportRequests, client=tidings, only_failed=True)
    """

    def __init__(self, app: App, client: Client, **options: Any) -> None:
        self._app = app
        self._reports: RequestReports[Scope] = RequestReports(client, **options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        root = scope.get("root_path", "")
        status = 500
        error: BaseException | None = None

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        except Exception as raised:
            # A response that has begun can't change its status, and has failed all the same.
            status, error = 500, raised
            raise
        finally:
            seconds = time.perf_counter() - started
            finished = FinishedRequest(scope["method"], _route_of(scope, root), status, seconds, error)
            self._reports.report(scope, finished)


def _route_of(scope: Scope, root: str) -> str | None:
    """The pattern, with the paths that applications in between are mounted at."""
    path = getattr(scope.get("route"), "path", None)
    return None if path is None else f"{scope.get('root_path', '')[len(root) :]}{path}"
