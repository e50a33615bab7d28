"""Reports requests of Django."""

from __future__ import annotations

import time
from typing import Any, Callable

from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

from ._request_events import FinishedRequest, RequestReports
from .client import Client

try:
    from asgiref.sync import iscoroutinefunction
except ImportError:  # Of Django 4.1 and older.
    from asyncio import iscoroutinefunction


def report_requests(client: Client, **options: Any) -> Callable[..., Any]:
    """Middleware that tracks an event for each request. Options: see ``RequestReports``; their functions get Django's
    request. Put it first, so that it measures all others.

    >>> report = report_requests(tidings, only_failed=True)  # in shop/tracking.py
    >>> MIDDLEWARE = ["shop.tracking.report", ...]  # in the settings
    """
    reports: RequestReports[HttpRequest] = RequestReports(client, **options)

    def middleware(get_response: Callable[..., Any]) -> Callable[..., Any]:
        def handle(request: HttpRequest) -> HttpResponse:
            started = time.perf_counter()
            response = get_response(request)
            _report(reports, request, response, started)
            return response

        async def handle_async(request: HttpRequest) -> HttpResponse:
            started = time.perf_counter()
            response = await get_response(request)
            _report(reports, request, response, started)
            return response

        handler: Any = handle_async if iscoroutinefunction(get_response) else handle
        # Django has turned an exception into a response before a middleware sees it.
        handler.process_exception = _note_exception
        return handler  # type: ignore[no-any-return]

    capable: Callable[..., Any] = sync_and_async_middleware(middleware)
    return capable


def _note_exception(request: HttpRequest, error: Exception) -> None:
    request._tidings_error = error


def _report(
    reports: RequestReports[HttpRequest], request: HttpRequest, response: HttpResponse, started: float
) -> None:
    match = request.resolver_match
    finished = FinishedRequest(
        request.method,
        f"/{match.route}" if match else None,
        response.status_code,
        time.perf_counter() - started,
        getattr(request, "_tidings_error", None),
    )
    reports.report(request, finished)
