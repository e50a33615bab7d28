"""HTTP requests, one attempt or with retries."""

from __future__ import annotations

import email.message
import email.utils
import http.client
import json
import random
import time
import urllib.error
import urllib.request
from typing import Any, Mapping

from ._deadline import DeadlineRequest, HTTPHandler, HTTPSHandler
from ._errors import NetworkError, ResponseError, TidingsError, is_temporary, problem_error

_BACKOFF_BASE = 0.2
_BACKOFF_MAX = 10.0
#: The longest ``Retry-After`` to wait for, in seconds.
RETRY_AFTER_MAX = 60.0
_READ_BYTES = 65_536
#: Of a batch's results, or of a stream's message: more than the server sends.
RESPONSE_BYTES = 4_000_000


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Following a redirect would turn the POST into a GET and send the API key to another address."""

    def redirect_request(self, *_: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirects, HTTPHandler, HTTPSHandler)


def open_response(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes | None,
    timeout: float,
    deadline: float | None = None,
) -> http.client.HTTPResponse:
    """Returns a response of any status. Raises ``NetworkError``.

    :param timeout: seconds for each operation of the socket
    :param deadline: until when the response can be read, in the time of ``time.monotonic``
    """
    request = DeadlineRequest(url, body, dict(headers), method=method)
    request.deadline = deadline
    try:
        response: http.client.HTTPResponse = _opener.open(request, timeout=timeout)
        return response
    except urllib.error.HTTPError as error:
        # An error of urllib is a response, too.
        return error  # type: ignore[return-value]
    except (OSError, http.client.HTTPException) as error:
        raise _no_response(url, error) from error


def attempt(
    method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout: float, results: int | None = None
) -> dict[str, Any]:
    """Sends a request once and returns the JSON of a success.

    :param timeout: seconds for the whole attempt
    :param results: how many results a batch must have; then its status doesn't matter
    """
    parts: list[bytes] = []
    size = 0
    with open_response(method, url, headers, body, timeout, time.monotonic() + timeout) as response:
        try:
            while part := response.read1(_READ_BYTES):
                parts.append(part)
                size += len(part)
                if results is not None and size > RESPONSE_BYTES:
                    raise OSError("the response is too long")
            if response.length:
                raise OSError("the response broke off")
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _no_response(url, error) from error
        status, response_headers = response.status, response.headers
    content = _parse(b"".join(parts))
    if isinstance(content, dict):
        found = content.get("results")
        if content.get("ok") is True if results is None else isinstance(found, list) and len(found) == results:
            return content
    raise _failure(status, response_headers, content)


def request(
    method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout: float, retries: int
) -> dict[str, Any]:
    """Sends a request, and retries network errors, 408, 429 and 5xx. Raises ``TidingsError``."""
    number = 1
    while True:
        try:
            return attempt(method, url, headers, body, timeout)
        except TidingsError as error:
            wait = requested_wait(error)
            if not is_temporary(error) or number > retries or wait > RETRY_AFTER_MAX:
                raise
        time.sleep(wait + backoff(number))
        number += 1


def backoff(attempt: int, maximum: float = _BACKOFF_MAX) -> float:
    """Seconds, exponential with full jitter, so that clients that failed together don't retry together."""
    return random.random() * min(maximum, _BACKOFF_BASE * 2.0 ** min(attempt - 1, 30))


def requested_wait(error: BaseException | None) -> float:
    """How many seconds the server asked to wait."""
    return error.retry_after if isinstance(error, ResponseError) else 0.0


def retry_after(header: str | None) -> float:
    """``Retry-After`` (RFC 9110, section 10.2.3), seconds or a date, as seconds from now."""
    text = (header or "").strip()
    if text.isdecimal():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, IndexError):
        return 0.0


def response_failure(response: http.client.HTTPResponse) -> ResponseError:
    """The error for a response that should have been a stream. Raises ``NetworkError``."""
    try:
        content = _parse(response.read(RESPONSE_BYTES))
    except (OSError, http.client.HTTPException) as error:
        raise NetworkError(str(error)) from error
    return _failure(response.status, response.headers, content)


def _failure(status: int, headers: email.message.Message, content: Any) -> ResponseError:
    if 200 <= status < 300:
        detail = "The response did not come from Tidings. Check the base URL."
        return ResponseError(status, "response-invalid", detail)
    if 300 <= status < 400:
        location = headers.get("location")
        to = f" to {location}" if location else ""
        detail = f"The server redirects{to}. Use its final address as base URL."
        return ResponseError(status, "redirected", detail)
    return problem_error(status, content, retry_after(headers.get("retry-after")))


def _parse(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _no_response(url: str, error: BaseException) -> NetworkError:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return NetworkError(f"No response from {url.split('?')[0]}: {reason or type(error).__name__}")
