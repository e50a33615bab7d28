"""What the tests of this client run: `driver.py SCENARIO`, with settings in JSON on the standard input."""

import atexit
import json
import os
import sys
import time

scenario, settings = sys.argv[1], json.loads(sys.stdin.read() or "{}")
dropped = []
if settings.get("report"):
    # Runs after what the library registers later.
    atexit.register(lambda: print(json.dumps(dropped)))

from tidings import Client  # noqa: E402


def client(**options):
    def on_error(events, reason, error):
        dropped.extend([each.get("name"), reason] for each in events)

    return Client(
        settings["url"],
        settings["key"],
        offline_dir=settings.get("directory"),
        queue_max=settings.get("queueMax", 200_000),
        on_error=on_error,
        **options,
    )


def track(tidings, start=0):
    for number in range(start, start + settings["count"]):
        tidings.track(settings["channel"], f"n {number}", tags={"number": number})
        if number % settings.get("flushEvery", 1_000_000) == 0:
            tidings.flush()
        if number % 100 == 99:
            time.sleep(settings.get("pauseMs", 0) / 1000)


def percentile(times, share):
    return sorted(times)[int(len(times) * share)] * 1000


def run_hostile():
    tidings = client(timeout=1.0, batch_seconds=0.01)
    track(tidings)
    tidings.track("", "no channel")
    tidings.track("c", "no tag", tags={"nested": {}})
    while not tidings.flush(60):
        pass
    tidings.close()
    tidings.track("c", "too late")
    print(json.dumps(sorted(dropped)))


def run_ending():
    tidings = client(batch_seconds=3600, exit_seconds=settings.get("close", 0))
    track(tidings)
    if settings.get("kill"):
        # The file is written within a moment, not at once.
        time.sleep(0.5)
        os.kill(os.getpid(), 9)


def run_delay():
    """How long `track` takes, and the same work without a queue, alternately: p99.9 of each window, in milliseconds."""
    tidings = client(timeout=30.0)
    tracked, control = [], []
    for number in range(settings["count"]):
        tags = {"number": number}
        begin = time.perf_counter()
        tidings.track("delay", f"n {number}", tags=tags)
        middle = time.perf_counter()
        for _ in range(2):
            json.dumps({"channel": "delay", "name": f"n {number}", "tags": {"number": str(number)}}).encode()
        tracked.append(middle - begin)
        control.append(time.perf_counter() - middle)
        if number % 20 == 19:
            time.sleep(0.001)
    windows = range(0, settings["count"], settings["window"])
    print(
        json.dumps(
            [[percentile(times[at : at + settings["window"]], 0.999) for times in (tracked, control)] for at in windows]
        )
    )
    sys.stdout.flush()
    os._exit(0)


def run_live():
    tidings = client()
    with tidings.live(channel=settings["channel"], last_event_id=settings.get("lastEventId")) as stream:
        print("connecting", flush=True)
        for event in stream:
            print(json.dumps([event["name"], stream.last_event_id]), flush=True)
            if event["name"] == "end":
                break


def run_read():
    tidings = client()
    names = [event["name"] for event in tidings.events(channel=settings["channel"], order="asc")]
    page = tidings.list(channel=settings["channel"], limit=2)
    tidings.identify("u1", {"plan": "pro", "seats": 5, "trial": None})
    tidings.identify("..", {"plan": "dots"})
    tidings.group("company", "acme", {"plan": "team", "trial": None}, user_id="u1")
    tidings.group("company", "acme", {"seats": 5})
    print(json.dumps({"names": names, "page": len(page.events), "hasMore": page.next_cursor is not None}))


def run_queue_full():
    tidings = client(batch_seconds=3600, batch_events=100_000)
    track(tidings)
    print(json.dumps(dropped))
    sys.stdout.flush()
    os._exit(0)


globals()[f"run_{scenario.replace('-', '_')}"]()
