"""A handler for Python's logging."""

from __future__ import annotations

import json
import logging
import traceback
from typing import Any, Iterator

from ._drops import is_reporting
from ._event_text import (
    DESCRIPTION_MAX,
    NAME_MAX,
    TAG_KEY_MAX,
    TAG_VALUE_MAX,
    TAGS_MAX,
    USER_ID_MAX,
    code_block,
    fit_line,
    fit_lines,
)
from .client import Client

#: What every record has. Other attributes come from ``extra``.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class TidingsHandler(logging.Handler):
    """Tracks an event for each log record, in the background. Logs of this library and of ``on_error`` are left out.

    The message is the name, ``extra`` has the tags, and a traceback is the description. A name that is cut stands there
    in full.

    :param level: the lowest level to send
    :param notify_level: notifies the project's members of records from this level; by default, of none
    :param user_id_key: the attribute with the user of your application
    """

    def __init__(
        self,
        client: Client,
        channel: str = "logs",
        level: int | str = logging.INFO,
        notify_level: int | None = None,
        user_id_key: str = "user_id",
    ) -> None:
        super().__init__(level)
        self._client = client
        self._channel = channel
        self._notify_level = notify_level
        self._user_id_key = user_id_key

    def emit(self, record: logging.LogRecord) -> None:
        # An event for each event that is dropped would be dropped, too.
        if is_reporting() or record.name == "tidings" or record.name.startswith("tidings."):
            return
        try:
            self._track(record)
        except Exception:
            self.handleError(record)

    def _track(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        name = fit_line(message, NAME_MAX).strip() or "Log without a message"
        extra = {key: value for key, value in vars(record).items() if key not in _STANDARD}
        user_id = extra.pop(self._user_id_key, None)
        if user_id is not None and fit_line(str(user_id), USER_ID_MAX) != str(user_id):
            # A cut ID could be another user's.
            extra[self._user_id_key], user_id = user_id, None
        tags = {"level": record.levelname.lower(), "logger": record.name}
        if record.exc_info and record.exc_info[0]:
            tags["error"] = record.exc_info[0].__name__
        for path, text in _leaves(extra):
            key = fit_line(path, TAG_KEY_MAX)
            if key.strip() and len(tags) < TAGS_MAX:
                tags.setdefault(key, text)
        self._client.track(
            self._channel,
            name,
            user_id=None if user_id is None else str(user_id),
            notify=True if self._notify_level is not None and record.levelno >= self._notify_level else None,
            tags={key: fit_lines(text, TAG_VALUE_MAX) for key, text in tags.items()},
            description=_description(record, message if len(message) > NAME_MAX else ""),
            created_at=int(record.created * 1000),
        )


def _description(record: logging.LogRecord, message: str) -> str | None:
    parts = [message] if message else []
    if record.exc_info and record.exc_info[0]:
        parts.append("".join(traceback.format_exception(*record.exc_info)).rstrip())
    elif record.exc_text:
        parts.append(record.exc_text)
    if record.stack_info:
        parts.append(record.stack_info)
    if not parts:
        return None
    text = "\n\n".join(parts)
    # The end of a traceback says what happened.
    return code_block(text if len(text) < DESCRIPTION_MAX - 100 else f"…{text[100 - DESCRIPTION_MAX :]}")


def _leaves(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _leaves(value, f"{path}.")
        elif isinstance(value, bool):
            yield path, "true" if value else "false"
        elif isinstance(value, (list, tuple)):
            yield path, json.dumps(value, default=str, ensure_ascii=False)
        elif value is not None:
            yield path, str(value)
