"""Logic that needs no server: `python -m unittest discover -s tests`, with `src` on the path."""

import json
import logging
import os
import random
import re
import socket
import tempfile
import threading
import time
import unittest
from datetime import datetime, timedelta, timezone

from tidings import Client, NetworkError
from tidings._event import EventIds, Item, event_item, group_item, properties_item
from tidings._journal import Journal, _item_of, _line_of
from tidings._request import attempt, backoff, retry_after
from tidings.logging import TidingsHandler

UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TEXTS = ["", "a b", "é💰", "\n\t\x00", "..", '"\\', "\u2028", "x" * 3000]


class Recorder:
    """A client whose events are looked at instead of sent."""

    def __init__(self):
        self.events = []

    def track(self, channel, name, **fields):
        self.events.append({"channel": channel, "name": name, **fields})


class EventTest(unittest.TestCase):
    def test_ids_grow_whatever_the_clock_does(self):
        for seed in range(20):
            steps = random.Random(seed)
            now = 1_700_000_000.0
            ids = EventIds(lambda: now)
            last = ""
            for number in range(6_000):
                now += steps.choice([0, 0.001, -0.5, 2]) if number < 500 else 0
                id = ids()
                self.assertRegex(id, UUID7)
                self.assertGreater(id, last)
                last = id

    def test_tags_are_strings(self):
        at = datetime(2026, 11, 26, 12, 0, 0, 5000, tzinfo=timezone(timedelta(hours=1)))
        tags = {"a": 1, "b": True, "c": None, "d": 1.5, "e": at, "f": "x"}
        body = json.loads(event_item({"channel": "c", "name": "n", "tags": tags, "createdAt": at}).json)
        expected = {"a": "1", "b": "true", "d": "1.5", "e": "2026-11-26T11:00:00.005Z", "f": "x"}
        self.assertEqual(body["tags"], expected)
        self.assertEqual(body["createdAt"], "2026-11-26T11:00:00.005Z")
        for value in ([], {}, object(), b"x"):
            with self.assertRaises(TypeError):
                event_item({"channel": "c", "name": "n", "tags": {"a": value}})

    def test_tracking_never_raises(self):
        dropped = []
        client = Client("http://127.0.0.1:1", "k", on_error=lambda *args: dropped.append(args))
        client.track("c", "n", tags={"a": []})
        client.track("c", "\ud800")
        client.track("c", "n", tags=7)
        client.identify("u1", {"a": object()})
        client.identify("u1", None)
        client.identify(None, {})
        client.group("company", "acme", {"a": object()})
        client.group("company", object())
        self.assertEqual([reason for _, reason, _ in dropped], ["invalid"] * 8)
        broken = Client("http://127.0.0.1:1", "k", on_error=lambda *args: 1 / 0)
        with self.assertLogs("tidings", "ERROR"):
            broken.track("c", "n", tags=7)

    def test_before_send_changes_and_drops(self):
        sent = []

        def before_send(event):
            return None if event["name"] == "secret" else {**event, "userId": "hidden"}

        client = Client("http://127.0.0.1:1", "k", before_send=before_send, exit_seconds=0)
        client._queue.add = sent.append
        self.assertIsNone(client.track("c", "secret"))
        self.assertIsNotNone(client.track("c", "n", user_id="ada@example.com"))
        self.assertEqual([json.loads(item.json)["userId"] for item in sent], ["hidden"])

    def test_a_flush_of_nothing_rests(self):
        client = Client("http://127.0.0.1:1", "k")
        client._queue._send = lambda items: [None] * len(items)
        client.track("c", "n")
        self.assertTrue(client.flush())
        self.assertTrue(client.flush())
        before = time.process_time()
        time.sleep(0.5)
        self.assertLess(time.process_time() - before, 0.1)

    def test_options_are_checked(self):
        for args in (("tidings.example.com", "k"), ("https://x.example", "a key"), ("", ""), (None, "k")):
            with self.assertRaises(ValueError):
                Client(*args)
        for options in ({"timeout": 0}, {"retries": -1}, {"queue_max": 0}):
            with self.assertRaises(ValueError):
                Client("https://x.example", "k", **options)


class RequestTest(unittest.TestCase):
    def test_retry_after(self):
        for header in (None, "", "soon", "-1", "Thu, 26 Nov 1998 12:00:00 GMT"):
            self.assertEqual(retry_after(header), 0)
        self.assertEqual(retry_after("7"), 7)
        self.assertGreater(retry_after("Thu, 26 Nov 2099 12:00:00 GMT"), 1e9)

    def test_backoff_is_bounded(self):
        for attempt in range(1, 2_000):
            self.assertTrue(0 <= backoff(attempt, 30) <= min(30, 0.2 * 2 ** min(attempt - 1, 30)))


    def test_an_attempt_ends_in_time_however_slowly_or_long_a_server_responds(self):
        head = b"HTTP/1.1 200 OK\r\n"
        for start, rest in (
            (head + b"x: ", b"x"),
            (head + b"transfer-encoding: chunked\r\n\r\n", b"0"),
            (head + b"content-length: 9\r\n\r\n", b"x"),
            (head + b"\r\n", b"x" * 500_000),
        ):
            with socket.create_server(("127.0.0.1", 0)) as server:
                thread = threading.Thread(target=respond, args=(server, start, rest))
                thread.start()
                url = f"http://127.0.0.1:{server.getsockname()[1]}"
                before = time.monotonic()
                with self.assertRaises(NetworkError):
                    attempt("POST", url, {}, b"[]", 0.5, results=1)
                self.assertLess(time.monotonic() - before, 3)
                thread.join()

    def test_a_stream_with_a_message_without_end_connects_again(self):
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}"
            for rest in (b"x" * 500_000, b"x: y\n" * 100_000):
                thread = threading.Thread(target=respond, args=(server, head, rest))
                thread.start()
                messages = Client(url, "k").live()._messages()
                with self.assertRaisesRegex(OSError, "too long"):
                    next(messages)
                thread.join()


def respond(server, start, rest):
    """Sends a response that does not end, until the client has had enough."""
    connection, _ = server.accept()
    with connection:
        ends_at = time.monotonic() + 5
        try:
            connection.sendall(start)
            while time.monotonic() < ends_at:
                connection.sendall(rest)
                time.sleep(0.1 if len(rest) == 1 else 0)
        except OSError:
            pass


class ReadingTest(unittest.TestCase):
    def test_unknown_filters_are_refused_before_a_request(self):
        client = Client("http://127.0.0.1:1", "k", disabled=True)
        for read in (client.list, client.events, client.live):
            with self.assertRaisesRegex(TypeError, "no filter 'chanel', but channel, "):
                read(chanel="payments")
        with self.assertRaises(TypeError):
            client.live(order="asc")
        self.assertEqual(client.list(channel=None, order="asc", limit=1), ([], None))


class JournalTest(unittest.TestCase):
    def test_lines_are_read_as_written(self):
        for text in TEXTS:
            for item in (
                event_item({"channel": "c", "name": text, "tags": {text: text}}),
                properties_item(text, {text: text, "n": None}),
                group_item("company", text, {text: text}, text),
            ):
                line = _line_of(item)
                self.assertEqual(_item_of(line), item)
                for cut in range(1, min(len(line), 50)):
                    self.assertIsNone(_item_of(line[:-cut]))

    def test_files_have_a_limit(self):
        with tempfile.TemporaryDirectory() as directory:
            journal = Journal(directory, 1_000, 100)
            pending = []
            for number in range(100):
                item = Item(f"{number}", b'{"id":"%d","name":"%b"}' % (number, b"x" * 50))
                journal.append([item], pending)
                pending.append(item)
            sizes = [os.path.getsize(os.path.join(directory, name)) for name in os.listdir(directory)]
            self.assertEqual(len(sizes), 1)
            self.assertTrue(900 < sizes[0] <= 1_000, sizes)
            left = journal.close(pending)
            self.assertTrue(0 < len(left) < 100)
            next_one = Journal(directory, 1_000, 100)
            kept = next_one.open()
            self.assertEqual(next_one.close([]), [])
            self.assertEqual(sorted(item.id for item in kept + left), sorted(item.id for item in pending))

    def test_nothing_of_ended_processes_is_lost_when_it_does_not_fit(self):
        with tempfile.TemporaryDirectory() as directory:
            pending = [Item(f"{number}", b'{"id":"%d"}' % number) for number in range(100)]
            first, second = Journal(directory, 10_000, 100), Journal(directory, 10_000, 100)
            first.append(pending[:50], [])
            second.append(pending[50:], [])
            self.assertEqual(first.close(pending[:50]) + second.close(pending[50:]), [])
            # It may have been given less room, and it may be killed too.
            killed = Journal(directory, 600, 100)
            self.assertEqual(len(killed.open()), 100)
            killed._file.close()
            next_one = Journal(directory, 600, 100)
            self.assertEqual(sorted(item.id for item in next_one.open()), sorted(item.id for item in pending))
            self.assertEqual(next_one.close([]), [])
            self.assertEqual(os.listdir(directory), [])


class LoggingTest(unittest.TestCase):
    def setUp(self):
        self.client = Recorder()
        self.logger = logging.Logger("shop")
        self.logger.addHandler(TidingsHandler(self.client, level="INFO", notify_level=logging.ERROR))

    def test_records_are_events(self):
        self.logger.debug("too low")
        self.logger.warning(
            "Payment of %s declined", 49, extra={"user_id": "u1", "order": {"id": 7, "paid": False}}
        )
        (event,) = self.client.events
        self.assertEqual(event["name"], "Payment of 49 declined")
        self.assertEqual(event["user_id"], "u1")
        self.assertIsNone(event["notify"])
        self.assertEqual(
            event["tags"], {"level": "warning", "logger": "shop", "order.id": "7", "order.paid": "false"}
        )

    def test_exceptions_have_their_traceback(self):
        try:
            raise ValueError("no ``` stock")
        except ValueError:
            self.logger.exception("x" * 300)
        (event,) = self.client.events
        self.assertTrue(event["notify"])
        self.assertEqual(len(event["name"]), 200)
        self.assertEqual(event["tags"]["error"], "ValueError")
        self.assertIn("ValueError: no ``` stock\n````", event["description"])
        self.assertIn("x" * 300, event["description"])

    def test_long_and_strange_values_fit(self):
        extra = {f"k{number}": "\x00" * 2_000 for number in range(80)}
        extra["user_id"] = "u" * 201
        self.logger.info("\ud800\x00 \n", extra=extra)
        (event,) = self.client.events
        self.assertIsNone(event["user_id"])
        self.assertEqual(len(event["tags"]), 50)
        self.assertTrue(all(len(text) <= 1_000 for text in event["tags"].values()))
        event_item({"channel": "c", "name": event["name"], "tags": event["tags"]})

    def test_the_librarys_own_logs_are_left_out(self):
        logger = logging.Logger("tidings")
        logger.addHandler(TidingsHandler(self.client))
        logger.warning("dropped")
        self.assertEqual(self.client.events, [])

    def test_logs_of_on_error_are_left_out(self):
        reasons = []

        def on_error(events, reason, error):
            reasons.append(reason)
            logger.warning("%d events dropped", len(events))

        client = Client("http://127.0.0.1:1", "k", on_error=on_error, queue_max=1, exit_seconds=0)
        logger = logging.Logger("shop")
        logger.addHandler(TidingsHandler(client))
        logger.warning("fits")
        logger.warning("does not fit")
        self.assertEqual(reasons, ["queue-full"])
        client.close(0.01)
        logger.warning("too late")
        self.assertEqual(reasons, ["queue-full", "undeliverable", "closed"])


if __name__ == "__main__":
    unittest.main()
