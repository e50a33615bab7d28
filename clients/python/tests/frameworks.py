"""Sends requests to a small site of a framework: `frameworks.py django|flask|fastapi`, with settings in JSON."""

import asyncio
import json
import sys
import time

from tidings import Client

framework, settings = sys.argv[1], json.loads(sys.stdin.read())
tidings = Client(settings["url"], settings["key"])
PATHS = ["/healthz", "/orders/ada@example.com?token=x", "/slow", "/broken/7", "/nowhere"]


def options(path_of):
    return {
        "channel": settings["channel"],
        "slow_ms": 200,
        "ignore": lambda request: path_of(request) == "/healthz",
        "user_id": lambda request: "u1",
        "tags": lambda request: {"region": "eu"},
    }


def fail():
    raise ValueError("no stock")


def run_django(is_async=False):
    import django
    from django.conf import settings as django_settings
    from django.http import HttpResponse
    from django.urls import path

    from tidings.django import report_requests

    def slow(request):
        time.sleep(0.25)
        return HttpResponse("ok")

    async def order(request, id):
        return HttpResponse("ok")

    sys.modules["site_of_test"] = sys.modules[__name__]
    globals()["report"] = report_requests(tidings, **options(lambda request: request.path))
    globals()["urlpatterns"] = [
        path("healthz", lambda request: HttpResponse("ok")),
        path("orders/<str:id>", order if is_async else lambda request, id: HttpResponse("ok")),
        path("slow", slow),
        path("broken/<int:id>", lambda request, id: fail()),
    ]
    django_settings.configure(
        ALLOWED_HOSTS=["testserver"],
        ROOT_URLCONF="site_of_test",
        MIDDLEWARE=["site_of_test.report", "django.middleware.common.CommonMiddleware"],
        LOGGING_CONFIG=None,
    )
    django.setup()
    import logging

    logging.disable(logging.CRITICAL)
    if not is_async:
        from django.test import Client as Browser

        browser = Browser(raise_request_exception=False)
        return [browser.get(each).status_code for each in PATHS]

    from django.test import AsyncClient

    async def get_all():
        browser = AsyncClient(raise_request_exception=False)
        return [(await browser.get(each)).status_code for each in PATHS]

    return asyncio.run(get_all())


def run_flask():
    import logging

    from flask import Flask, request

    from tidings.flask import report_requests

    logging.disable(logging.CRITICAL)
    app = Flask(__name__)

    @app.before_request
    def answer_early():
        if request.path == "/early":
            return "ok"

    report_requests(app, tidings, **options(lambda request: request.path))
    app.add_url_rule("/healthz", "healthz", lambda: "ok")
    app.add_url_rule("/orders/<id>", "order", lambda id: "ok")
    app.add_url_rule("/slow", "slow", lambda: time.sleep(0.25) or "ok")
    app.add_url_rule("/broken/<id>", "broken", lambda id: fail())
    browser = app.test_client()
    return [browser.get(each).status_code for each in PATHS]


def run_fastapi():
    from fastapi import APIRouter, FastAPI

    from tidings.asgi import ReportRequests

    inner = FastAPI()
    orders = APIRouter(prefix="/orders")
    app = FastAPI()
    app.add_middleware(ReportRequests, client=tidings, **options(lambda scope: scope["path"]))

    @app.get("/healthz")
    async def healthz():
        return "ok"

    @orders.get("/{id}")
    async def order(id: str):
        return "ok"

    @app.get("/slow")
    async def slow():
        await asyncio.sleep(0.25)

    @inner.get("/{id}")
    async def broken(id: str):
        fail()

    app.include_router(orders)
    app.mount("/broken", inner)

    async def get(url):
        path, _, query = url.partition("?")
        status = None

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            nonlocal status
            status = message.get("status", status)

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [],
            "server": ("testserver", 80),
            "client": ("127.0.0.1", 1),
        }
        try:
            await app(scope, receive, send)
        except ValueError:
            # Servers answer before they log it.
            pass
        return status

    async def get_all():
        return [await get(each) for each in PATHS]

    return asyncio.run(get_all())


statuses = {
    "django": run_django,
    "django-async": lambda: run_django(is_async=True),
    "flask": run_flask,
    "fastapi": run_fastapi,
}[framework]()
tidings.close()
print(json.dumps(statuses))
