/** The built dashboard over HTTP. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { rawRequest } from "../testing/raw-request.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
let script: string;
beforeAll(async () => {
  app = await testApp();
  const html = await (await get("/")).text();
  script = /src="(\/assets\/index-[^"]+\.js)"/.exec(html)![1]!;
});
afterAll(() => app[Symbol.asyncDispose]());

const browser = { accept: "text/html,*/*;q=0.8" };

/** A client that decodes nothing, and accepts no encoding unless told to. */
function get(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Response> {
  return fetch(app.address + path, {
    method,
    headers: { "accept-encoding": "identity", ...headers },
    decompress: false,
  });
}

describe("a file is sent in the requested encoding", () => {
  const decoders = { br: brotliDecompressSync, gzip: gunzipSync };
  const table: [asked: string, given: keyof typeof decoders | null][] = [
    ["gzip, deflate", "gzip"],
    ["gzip, deflate, br, zstd", "br"],
    ["br;q=0, gzip", "gzip"],
    ["identity", null],
  ];
  for (const [asked, given] of table) {
    test(`${asked}: ${given ?? "as it is"}`, async () => {
      for (const path of ["/", script, "/theme.js", "/manifest.webmanifest", "/p/default"]) {
        const plain = await (await get(path)).bytes();
        const response = await get(path, { "accept-encoding": asked });
        expect([path, response.headers.get("content-encoding")]).toEqual([path, given]);
        expect(response.headers.get("vary")).toBe("accept-encoding");
        const sent = await response.bytes();
        expect(Number(response.headers.get("content-length"))).toBe(sent.length);
        const content = given ? new Uint8Array(decoders[given](sent)) : sent;
        expect(Bun.hash(content)).toBe(Bun.hash(plain));
        if (given) expect(sent.length).toBeLessThan(plain.length);
      }
    });
  }

  test("a font is sent as it is, because it is compressed already", async () => {
    const html = await (await get("/")).text();
    const font = /href="(\/assets\/[^"]+\.woff2)"/.exec(html)![1]!;
    const response = await get(font, { "accept-encoding": "gzip, br" });
    expect(response.headers.get("content-encoding")).toBeNull();
    expect(response.headers.get("content-type")).toBe("font/woff2");
  });
});

test("each file has its type and cache lifetime", async () => {
  const table: [path: string, type: RegExp, cache: string][] = [
    ["/", /^text\/html/, "no-cache"],
    ["/sw.js", /^text\/javascript/, "no-cache"],
    ["/mark.svg", /^image\/svg\+xml/, "no-cache"],
    ["/manifest.webmanifest", /^application\/manifest\+json/, "no-cache"],
    [script, /^text\/javascript/, "public, max-age=31536000, immutable"],
  ];
  for (const [path, type, cache] of table) {
    const { status, headers } = await get(path);
    expect([path, status, headers.get("cache-control")]).toEqual([path, 200, cache]);
    expect(headers.get("content-type")).toMatch(type);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("same-origin");
  }
});

test("pages and workers can only use this server, and nothing else can do anything", async () => {
  const worker = readdirSync(join(import.meta.dir, "../../dashboard/dist/assets")).find((name) =>
    /^stream-worker-.*\.js$/.test(name),
  );
  for (const path of ["/", "/p/default", "/nowhere", "/sw.js", `/assets/${worker}`]) {
    const policy = (await get(path, browser)).headers.get("content-security-policy")!;
    expect([path, policy]).toEqual([path, expect.stringContaining("default-src 'none'; script-src 'self'")]);
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
  }
  for (const path of ["/mark.svg", "/healthz", "/openapi.json", "/api/me", "/api/nowhere"]) {
    const { headers } = await get(path);
    expect([path, headers.get("content-security-policy")]).toEqual([
      path,
      "default-src 'none'; frame-ancestors 'none'",
    ]);
    expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
  }
  const { headers } = await get("/");
  expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
  expect(headers.get("permissions-policy")).toContain("camera=()");
});

test("HTTPS is required for a year, if it is used", async () => {
  const hsts = (headers: Record<string, string> = {}, own = app) =>
    fetch(`${own.address}/api/setup`, { headers }).then((response) =>
      response.headers.get("strict-transport-security"),
    );
  expect(await hsts()).toBeNull();
  expect(await hsts({ "x-forwarded-proto": "https" })).toBeNull();
  await using proxied = await testApp({ trustedProxies: ["127.0.0.0/8"] });
  expect(await hsts({ "x-forwarded-proto": "https" }, proxied)).toBe("max-age=31536000");
  expect(await hsts({ "x-forwarded-proto": "http" }, proxied)).toBeNull();
  await using secure = await testApp({ url: "https://tidings.example.com" });
  expect(await hsts({}, secure)).toBe("max-age=31536000");
});

test("cached files get 304 in every encoding", async () => {
  for (const path of ["/", "/p/default/settings", "/sw.js", script]) {
    const first = await get(path, { "accept-encoding": "br" });
    const tag = first.headers.get("etag")!;
    for (const encoding of ["br", "gzip", "identity"]) {
      const again = await get(path, { "accept-encoding": encoding, "if-none-match": `"other", ${tag}` });
      expect([path, again.status, await again.text()]).toEqual([path, 304, ""]);
      // A browser would add it to the page that it has stored.
      expect(again.headers.get("content-security-policy")).toBeNull();
      for (const name of ["etag", "vary", "cache-control"])
        expect(again.headers.get(name)).toBe(first.headers.get(name));
    }
    expect((await get(path, { "if-none-match": 'W/"other"' })).status).toBe(200);
  }
});

test("HEAD responds like GET, without the body", async () => {
  for (const path of ["/", "/p/default", script]) {
    const response = await get(path, { "accept-encoding": "gzip" }, "HEAD");
    const { status, headers } = await get(path, { "accept-encoding": "gzip" });
    expect([path, response.status, await response.text()]).toEqual([path, status, ""]);
    for (const name of ["content-type", "content-encoding", "etag", "vary", "cache-control"])
      expect([name, response.headers.get(name)]).toEqual([name, headers.get(name)]);
  }
});

test("every page of the dashboard's router is served as one that exists", async () => {
  const router = await Bun.file(join(import.meta.dir, "../../dashboard/router.tsx")).text();
  const paths = [...router.matchAll(/\b(open|page)\(\s*"(\/[^"]*)"/g)].map(([, kind, path]) =>
    kind === "page" ? `/p/default${path}` : path!,
  );
  expect(paths.length).toBeGreaterThan(10);
  for (const path of paths) expect([path, (await get(path, browser)).status]).toEqual([path, 200]);
});

test("an unknown path is a page for a browser, and a problem for other clients", async () => {
  const page = await get("/nowhere/at/all", browser);
  expect([page.status, page.headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"]);
  expect(page.headers.get("vary")).toBe("accept-encoding, accept");
  expect(await page.text()).toContain('<div id="root">');
  for (const [path, headers] of [
    ["/nowhere/at/all", {}],
    ["/assets/index-gone.js", browser],
    ["/assets/", browser],
    ["/api/nowhere", browser],
  ] as const) {
    const response = await get(path, headers);
    expect([path, response.status]).toEqual([path, 404]);
    expect(await response.json()).toMatchObject({ ok: false, type: "/problems/route-unknown" });
  }
});

test("nothing outside the build is served", async () => {
  for (const path of ["/../../package.json", "/..%2f..%2fpackage.json", "/assets/../../../package.json"]) {
    const request = `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`;
    using answer = await rawRequest(app.address, request);
    expect([path, await answer.status()]).toEqual([path, 404]);
  }
});
