"""Sends events to Tidings, the self-hosted event tracker, and reads them.

>>> from tidings import Client
>>> tidings = Client("https://tidings.example.com", "tdg_sk_…")
>>> tidings.track("payments", "Payment received", user_id="u1", tags={"amount": 42})
"""

from ._drops import DropReason, OnError
from ._errors import NetworkError, ResponseError, TidingsError
from ._event import TagValue
from ._live import LiveEvents
from ._reader import Event, Filters, LiveFilters, Page
from .client import Client

__version__ = "0.1.0"
__all__ = [
    "Client",
    "DropReason",
    "Event",
    "Filters",
    "LiveEvents",
    "LiveFilters",
    "NetworkError",
    "OnError",
    "Page",
    "ResponseError",
    "TagValue",
    "TidingsError",
]
