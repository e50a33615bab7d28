"""Texts as the server accepts them."""

from __future__ import annotations

import re

# The server's limits, in characters; of tags, how many.
NAME_MAX = 200
USER_ID_MAX = 200
DESCRIPTION_MAX = 10_000
TAGS_MAX = 50
TAG_KEY_MAX = 64
TAG_VALUE_MAX = 1_000

# C0 controls, DEL, C1 controls and lone surrogates. The second leaves tab, line feed and carriage return.
_NOT_IN_LINE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_NOT_IN_LINES = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def fit_line(text: str, maximum: int) -> str:
    """A text for a name or a key: on one line, and cut."""
    return _cut(_NOT_IN_LINE.sub("\ufffd", re.sub(r"\s+", " ", text)), maximum)


def fit_lines(text: str, maximum: int) -> str:
    """A text that may have several lines: a tag's value or a description."""
    return _cut(_NOT_IN_LINES.sub("\ufffd", text), maximum)


def code_block(text: str) -> str:
    """A Markdown code block that fits into a description, in which nothing of the text is Markdown."""
    longest = max((len(fence) for fence in re.findall("`+", text)), default=0)
    if longest > 100:
        # A text with such a fence is no traceback; its quotes can go.
        return code_block(text.replace("`", "'"))
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{fit_lines(text, DESCRIPTION_MAX - 2 * (len(fence) + 1))}\n{fence}"


def _cut(text: str, maximum: int) -> str:
    return text if len(text) <= maximum else f"{text[: maximum - 1]}…"
