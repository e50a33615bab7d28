/** Edge cases of HTTP: whatever a client sends, it gets a useful error, and nothing fails. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rawRequest } from "../testing/raw-request.ts";
import { testProcess } from "../testing/server-process.ts";

let app: Awaited<ReturnType<typeof testProcess>>;
beforeAll(async () => {
  app = await testProcess();
});
afterAll(async () => {
  const { stdout, stderr } = await app.end("SIGTERM");
  await app[Symbol.asyncDispose]();
  expect([stdout.includes("a request failed"), stderr]).toEqual([false, ""]);
});

/** Sends raw bytes and returns the response; "" if the connection was closed. */
async function exchange(text: string): Promise<{ status: number | null; text: string }> {
  using request = await rawRequest(app.address, Buffer.from(text, "latin1"));
  return { status: await request.status(), text: request.text };
}

const key = () => `x-api-key: ${app.key}\r\n`;
const event = '{"channel":"a","name":"n"}';
const posted = `content-type: application/json\r\ncontent-length: ${event.length}\r\n\r\n${event}`;

describe("an invalid Host gets 400", () => {
  for (const host of ["", " ", "a b", "[", "a/b", "a@b", "a:99999", "a%zz", "\xff", "1.2.3.4.5"]) {
    test(JSON.stringify(host), async () => {
      for (const request of [
        `GET /healthz HTTP/1.1\r\nhost: ${host}\r\n\r\n`,
        `GET /api/events HTTP/1.1\r\nhost: ${host}\r\n${key()}\r\n`,
        `GET /api/events/stream HTTP/1.1\r\nhost: ${host}\r\n${key()}\r\n`,
        `GET / HTTP/1.1\r\nhost: ${host}\r\naccept: text/html\r\n\r\n`,
        `GET /api/auth/get-session HTTP/1.1\r\nhost: ${host}\r\n\r\n`,
        `POST /api/events HTTP/1.1\r\nhost: ${host}\r\n${key()}${posted}`,
        `POST /api/events?project=a HTTP/1.1\r\nhost: ${host}\r\ncookie: tidings.session_token=a\r\n${posted}`,
      ]) {
        const { status, text } = await exchange(request);
        expect([request, status]).toEqual([request, 400]);
        expect(text).toContain("/problems/host-invalid");
      }
    });
  }
});

describe("HTTP/1.0 needs no Host (RFC 9112, section 3.2)", () => {
  for (const [what, request, status] of [
    ["a page", () => "GET / HTTP/1.0\r\naccept: text/html\r\n\r\n", 200],
    ["a probe", () => "GET /healthz HTTP/1.0\r\n\r\n", 200],
    ["a listing", () => `GET /api/events?limit=5 HTTP/1.0\r\n${key()}\r\n`, 200],
    ["an event", () => `POST /api/events HTTP/1.0\r\n${key()}${posted}`, 201],
    ["an event with a query", () => `POST /api/events?a=b HTTP/1.0\r\n${key()}${posted}`, 400],
    ["a session", () => "GET /api/auth/get-session HTTP/1.0\r\n\r\n", 200],
    ["a path that is not there", () => "GET /api/nothing HTTP/1.0\r\n\r\n", 404],
  ] as const) {
    test(what, async () => {
      expect(await exchange(request())).toMatchObject({ status });
    });
  }

  test("a live stream", async () => {
    using request = await rawRequest(app.address, `GET /api/events/stream HTTP/1.0\r\n${key()}\r\n`);
    expect(await request.status()).toBe(200);
  });
});

test("odd targets, methods and cookies get a useful error, never 500", async () => {
  const paths = [
    "/%zz",
    "/%",
    "/%00",
    "/a%00b",
    "//b/c",
    "/..%2f..%2fetc/passwd",
    "/a\\b",
    "/\xff",
    "/a#b",
    "/assets/%zz",
    "/assets/..%2f",
    "/api/%zz",
    "/api/events/%zz",
    "/api/events/%ff",
    "/api/events/%zz/deliveries",
    "/api/users/%zz",
    "/api/users/%ff",
    "/api/channels/%zz",
    "/api/channels/%00",
    "/api/jobs/%zz",
    "/api/keys/%zz",
    "/api/projects/%zz",
    "/api/destinations/%zz",
    "/api/events/rejected/%zz",
    "/api/events/rejected/%zz/replay",
    "/api/events?q=%zz",
    "/api/events?q=%ff",
    "/api/events?cursor=%zz",
    "/api/events?%zz=%zz",
    "/api/stats?by=%zz",
    "/api/search/complete?q=%zz",
    "/api/events/stream?lastEventId=%zz",
    "/api/auth/%zz",
    "/api/auth/get-session?%zz",
    "http://evil/api/events",
    `/${"a".repeat(8_000)}`,
    `/api/events?q=${"a".repeat(8_000)}`,
    "/api/events/__proto__",
    "/api/events/constructor",
    "/__proto__",
  ];
  const methods = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "PATCH",
    "DELETE",
    "OPTIONS",
    "TRACE",
    "PROPFIND",
    "QUERY",
    "CONNECT",
  ];
  const cookies = [
    "",
    "cookie: tidings.session_token=%zz\r\n",
    "cookie: tidings.session_token=\xff.\xff; =; ;;=a\r\n",
  ];
  const answers: string[] = [];
  await Promise.all(
    methods.map(async (method) => {
      for (const path of paths) {
        for (const more of [...cookies, key()]) {
          const head = `${method} ${path} HTTP/1.1\r\nhost: a\r\n${more}content-length: 2\r\nconnection: close\r\n\r\n{}`;
          using request = await rawRequest(app.address, Buffer.from(head, "latin1"));
          const status = await request.status();
          if (status === null || status >= 500)
            answers.push(`${method} ${path} ${more.slice(0, 40)}: ${request.text}`);
        }
      }
    }),
  );
  expect(answers).toEqual([]);
});

describe("the dashboard is served for its own paths", () => {
  const get = (path: string, accept: string) => fetch(app.address + path, { headers: { accept } });

  for (const path of [
    "/",
    "/setup?token=a",
    "/sign-in",
    "/notifications",
    "/p/default",
    "/p/default/",
    "/p/default/channels/a%2Fb",
    "/p/default/events/018f0000-0000-7000-8000-000000000000",
    "/p/default/keys",
    "/p/default/deliveries",
    "/p/default/rejected",
    "/p/default/connections",
    "/p/default/settings",
    "/account",
    "/account/notifications",
    "/channels/a",
    "/events/018f0000-0000-7000-8000-000000000000",
    "/keys",
    "/rejected",
    "/settings",
  ]) {
    test(path, async () => {
      for (const accept of ["text/html,application/xhtml+xml,*/*;q=0.8", "*/*"]) {
        const response = await get(path, accept);
        expect([response.status, response.headers.get("content-type")]).toEqual([
          200,
          "text/html; charset=utf-8",
        ]);
      }
    });
  }

  for (const path of [
    "/metrics",
    "/mytopic",
    "/pong/x",
    "/p",
    "/p/default/nothing",
    "/keys/a",
    "/%zz",
    "/wp-login.php",
  ]) {
    test(`${path} is not one of them: 404, with a page for browsers`, async () => {
      const other = await get(path, "*/*");
      expect([other.status, await other.json()]).toMatchObject([
        404,
        { ok: false, type: "/problems/route-unknown" },
      ]);
      const page = await get(path, "text/html,*/*;q=0.8");
      expect([page.status, page.headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"]);
      expect(page.headers.get("vary")?.split(", ")).toContain("accept");
    });
  }
});

test("responses with data are not cached, and their type is not guessed", async () => {
  const headers = { "x-api-key": app.key, "content-type": "application/json" };
  const answers = await Promise.all([
    app.post({ channel: "a", name: "n" }),
    app.post([{ channel: "a", name: "n" }]),
    app.post({}),
    fetch(`${app.address}/api/events`, { method: "POST", body: "{}" }),
    fetch(`${app.address}/api/events?limit=1`),
    fetch(`${app.address}/api/nothing`),
    fetch(`${app.address}/healthz`),
    fetch(`${app.address}/api/setup`),
    fetch(`${app.address}/api/auth/get-session`),
    ...[
      "events",
      "events?limit=1",
      "events?format=csv",
      "channels",
      "users",
      "stats",
      "events/rejected",
      "search/complete?q=a",
    ].map((path) => fetch(`${app.address}/api/${path}`, { headers })),
  ]);
  for (const { url, headers } of answers) {
    expect([url, headers.get("cache-control"), headers.get("x-content-type-options")]).toEqual([
      url,
      "no-store",
      "nosniff",
    ]);
  }
  const stream = await fetch(`${app.address}/api/events/stream`, { headers });
  expect(stream.headers.get("cache-control")).toBe("no-cache, no-transform");
  expect(stream.headers.get("x-content-type-options")).toBe("nosniff");
  await stream.body!.cancel();
});
