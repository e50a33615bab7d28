from __future__ import annotations

from typing import Any


class TidingsError(Exception):
    """An event could not be sent, or a request failed."""


class NetworkError(TidingsError):
    """No attempt got a complete response in time."""


class ResponseError(TidingsError):
    """The server rejected the request, or its last response was a 5xx.

    ``code`` is the problem's name, such as ``body-invalid``; ``http-502`` or similar if a proxy responded,
    ``redirected`` if the address has moved, and ``response-invalid`` if a 2xx does not come from Tidings.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        errors: list[dict[str, str]] | None = None,
        retry_after: float = 0.0,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        #: Each with the ``pointer`` to a field and its ``detail``.
        self.errors = errors or []
        #: How long the server asked to wait, in seconds.
        self.retry_after = retry_after


def is_temporary(error: BaseException) -> bool:
    """Whether a retry may succeed."""
    return not isinstance(error, ResponseError) or is_temporary_status(error.status)


def is_temporary_status(status: int) -> bool:
    return status in (408, 429) or status >= 500


def problem_error(status: int, body: Any, retry_after: float = 0.0) -> ResponseError:
    """The error for a failed response: a problem from Tidings (RFC 9457), or anything else, such as a proxy's page."""
    if isinstance(body, dict) and isinstance(body.get("type"), str) and isinstance(body.get("detail"), str):
        errors = body.get("errors")
        code = body["type"].rsplit("/", 1)[-1]
        return ResponseError(
            status, code, body["detail"], errors if isinstance(errors, list) else [], retry_after
        )
    detail = f"The server responded with status {status}, without a reason."
    return ResponseError(status, f"http-{status}", detail, [], retry_after)
