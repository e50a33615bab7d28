"""Responses that end in time. A timeout of urllib is for each read of a socket: a single byte begins it anew."""

from __future__ import annotations

import functools
import http.client
import io
import socket
import time
import urllib.request
from typing import Any, Callable


class DeadlineRequest(urllib.request.Request):
    """A request whose response can be read until a time of ``time.monotonic``; None is without end."""

    deadline: float | None = None


class HTTPHandler(urllib.request.HTTPHandler):
    def http_open(self, request: Any) -> http.client.HTTPResponse:
        connection = _connection(http.client.HTTPConnection, request.deadline)
        return self.do_open(connection, request)  # type: ignore[arg-type]


class HTTPSHandler(urllib.request.HTTPSHandler):
    def https_open(self, request: Any) -> http.client.HTTPResponse:
        connection = _connection(http.client.HTTPSConnection, request.deadline)
        return self.do_open(connection, request, context=self._context)  # type: ignore[arg-type,attr-defined]


def _connection(
    kind: type[http.client.HTTPConnection], deadline: float | None
) -> Callable[..., http.client.HTTPConnection]:
    def connect(host: str, **options: Any) -> http.client.HTTPConnection:
        connection = kind(host, **options)
        if deadline is not None:
            connection.response_class = functools.partial(_Response, deadline=deadline)  # type: ignore[assignment]
        return connection

    return connect


class _Response(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, deadline: float, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp = io.BufferedReader(_Reads(self.fp.detach(), sock, deadline))


class _Reads(io.RawIOBase):
    def __init__(self, raw: io.RawIOBase, sock: socket.socket, deadline: float) -> None:
        self._raw = raw
        self._sock = sock
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("no complete response in time")
        self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()
