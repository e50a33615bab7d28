"""Reports requests of Flask."""

from __future__ import annotations

import time
from typing import Any

from flask import Flask, Request, Response, g, request

from ._request_events import FinishedRequest, RequestReports
from .client import Client


def report_requests(app: Flask, client: Client, **options: Any) -> None:
    """Tracks an event for each request. Options: see ``RequestReports``; their functions get Flask's request.

    >>> report_requests(app, tidings, only_failed=True)
    """
    reports: RequestReports[Request] = RequestReports(client, **options)

    def begin() -> None:
        g.tidings_started = time.perf_counter()

    def note(response: Response) -> Response:
        g.tidings_status = response.status_code
        return response

    def finish(error: BaseException | None) -> None:
        if "tidings_started" not in g:
            return
        seconds = time.perf_counter() - g.pop("tidings_started")
        status = g.pop("tidings_status", 500 if error else 200)
        route = request.url_rule.rule if request.url_rule else None
        reports.report(request, FinishedRequest(request.method, route, status, seconds, error))

    # Before others, which may answer the request; functions after a request run in reverse order.
    app.before_request_funcs.setdefault(None, []).insert(0, begin)
    app.after_request_funcs.setdefault(None, []).insert(0, note)
    app.teardown_request(finish)
