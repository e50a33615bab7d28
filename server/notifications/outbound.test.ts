import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from "node:net";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { until } from "../testing/until.ts";
import {
  AddressRefused,
  callOutbound,
  causeOf,
  isPublicAddress,
  OutboundFailure,
  readRetryAfterMs,
} from "./outbound.ts";

const open = { allowPrivate: true };
const shut = { allowPrivate: false };

let server: Server;
let origin: string;
let bytesWritten = 0;
beforeAll(async () => {
  server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, "http://localhost");
    const status = Number(searchParams.get("status") ?? 200);
    switch (pathname) {
      case "/redirect":
        return response.writeHead(302, { location: `${origin}/echo` }).end("elsewhere");
      case "/silent":
        return;
      case "/trickle": {
        response.statusCode = status;
        const timer = setInterval(() => response.write("x"), 20);
        return request.socket.on("close", () => clearInterval(timer));
      }
      case "/huge": {
        const write = () => {
          bytesWritten += 65_536;
          if (response.write(Buffer.alloc(65_536, "x"))) setImmediate(write);
          else response.once("drain", write);
        };
        request.socket.on("close", () => response.removeAllListeners("drain"));
        return write();
      }
      case "/cut":
        response.writeHead(status, { "content-length": "1000" });
        return response.write("half", () => request.socket.destroy());
      case "/emoji":
        return response.end("🐦".repeat(10));
      case "/headers":
        return response.setHeader("set-cookie", ["a=1", "b=2"]).setHeader("X-Mixed", "Case").end();
      default: {
        const chunks = await Array.fromAsync(request);
        const { method, url, headers } = request;
        return response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(chunks).toString() }));
      }
    }
  });
  origin = `http://127.0.0.1:${await listen(server)}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function listen(listening: TcpServer): Promise<number> {
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  return (listening.address() as AddressInfo).port;
}

function get(path: string, call: { timeoutMs?: number; responseBytesMax?: number } = {}) {
  return callOutbound(origin + path, { method: "GET", ...call }, open);
}

describe("a call", () => {
  test("sends what it is given, and nothing that a browser or a proxy would add", async () => {
    const call = {
      method: "POST",
      headers: { "content-type": "text/plain", "X-Mine": "1" },
      body: "grüezi 🐦",
    };
    const { status, body } = await callOutbound(`${origin}/echo?a=b#c`, call, open);
    expect(status).toBe(200);
    expect(JSON.parse(body)).toEqual({
      method: "POST",
      url: "/echo?a=b",
      headers: {
        "content-type": "text/plain",
        "x-mine": "1",
        "user-agent": "Tidings",
        "content-length": "12",
        host: new URL(origin).host,
        connection: "close",
      },
      body: "grüezi 🐦",
    });
  });

  test("sends raw bytes, and the user and password of the URL as Basic authentication", async () => {
    const address = `${origin.replace("//", "//us%3Aer:p%40ss@")}/echo`;
    const { body } = await callOutbound(address, { method: "PUT", body: new Uint8Array([104, 105]) }, open);
    expect(JSON.parse(body)).toMatchObject({
      method: "PUT",
      body: "hi",
      headers: { authorization: `Basic ${btoa("us:er:p@ss")}` },
    });
  });

  test("returns every header as one text", async () => {
    const { headers } = await get("/headers");
    expect(headers).toMatchObject({ "set-cookie": "a=1, b=2", "x-mixed": "Case" });
  });

  test("doesn't follow redirects", async () => {
    expect(await get("/redirect")).toMatchObject({ status: 302, body: "elsewhere" });
  });

  test("times out, whether the server is silent or trickles", async () => {
    for (const path of ["/silent", "/trickle?status=500"]) {
      const start = performance.now();
      const failure = await failureOf(get(path, { timeoutMs: 200 }));
      expect(failure).toBeInstanceOf(OutboundFailure);
      expect(failure.message).toBe(`${new URL(origin).host} did not respond within 0.2 s.`);
      expect(performance.now() - start).toBeLessThan(10_000);
    }
    // Its connections must be closed too.
    const isIdle = () =>
      new Promise<boolean>((resolve) => server.getConnections((_, count) => resolve(count === 0)));
    await until(isIdle);
  });

  test("a 2xx counts, even if its body trickles or is cut", async () => {
    const trickled = await get("/trickle", { timeoutMs: 200 });
    expect(trickled.status).toBe(200);
    expect(trickled.body).not.toBe("");
    expect((await get("/cut")).status).toBe(200);
  });

  test("reads a limited part of a body and closes the connection", async () => {
    const { status, body } = await get("/huge", { responseBytesMax: 1_000 });
    expect({ status, length: body.length }).toEqual({ status: 200, length: 1_000 });
    expect((await get("/huge")).body.length).toBe(65_536);
    await Bun.sleep(50);
    const written = bytesWritten;
    await Bun.sleep(100);
    expect(bytesWritten).toBe(written);
    expect(written).toBeLessThan(50_000_000);
  });

  test("never splits a character", async () => {
    expect((await get("/emoji", { responseBytesMax: 10 })).body).toBe("🐦🐦");
  });

  test("fails with a sentence if the connection is cut or refused, or the host isn't found", async () => {
    const { host } = new URL(origin);
    expect((await failureOf(get("/cut?status=500"))).message).toBe(
      `${host} closed the connection before its response was complete.`,
    );
    const refused = callOutbound("http://127.0.0.1:1/", { method: "GET" }, open);
    expect((await failureOf(refused)).message).toBe("127.0.0.1:1 refused the connection.");
    const unknown = callOutbound("https://tidings.invalid/", { method: "GET" }, open);
    expect((await failureOf(unknown)).message).toBe("The host name tidings.invalid was not found.");
  });

  test("doesn't trust self-signed certificates", async () => {
    const tls = createTlsServer({ cert: certificate, key }, (_, response) => response.end("secret"));
    const port = await listen(tls);
    const failure = await failureOf(callOutbound(`https://localhost:${port}/`, { method: "GET" }, open));
    expect(failure).toBeInstanceOf(OutboundFailure);
    expect(failure.message).toContain("SELF_SIGNED_CERT");
    tls.close();
  });

  test("ignores proxies in the environment", async () => {
    const script = `
      const { callOutbound } = await import(${JSON.stringify(import.meta.resolve("./outbound.ts"))});
      const { status } = await callOutbound(${JSON.stringify(`${origin}/echo`)}, { method: "GET" }, { allowPrivate: true });
      console.log(status);`;
    const proxy = "http://127.0.0.1:1";
    const env = {
      ...process.env,
      HTTP_PROXY: proxy,
      http_proxy: proxy,
      ALL_PROXY: proxy,
      NODE_USE_ENV_PROXY: "1",
    };
    const child = Bun.spawn([process.execPath, "-e", script], { env, stdout: "pipe" });
    expect(await child.stdout.text()).toBe("200\n");
  });
});

describe("an address that is not public", () => {
  for (const address of [
    "https://127.0.0.1/",
    "https://127.1/",
    "https://2130706433/",
    "https://0x7f.0.0.1/",
    "https://017700000001/",
    "https://１２７.0.0.1/",
    "https://127.0.0.1./",
    "https://0.0.0.0/",
    "https://10.1.2.3/",
    "https://169.254.169.254/latest/meta-data/",
    "https://[::1]/",
    "https://[::]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:a00:1]/",
    "https://[fd00:ec2::254]/",
    "https://user:password@192.168.0.1:8443/",
    "https://localhost/",
  ]) {
    test(`${address} is refused`, async () => {
      const failure = await failureOf(callOutbound(address, { method: "GET" }, shut));
      expect(failure).toBeInstanceOf(AddressRefused);
      expect(failure.message).toEndWith("is not a public address. Only public addresses are allowed.");
    });
  }

  test("is refused before connecting, also behind a name", async () => {
    let connections = 0;
    const tcp = createTcpServer((socket) => {
      connections++;
      socket.destroy();
    });
    const port = await listen(tcp);
    for (const host of ["localhost", "127.0.0.1"]) {
      const address = `https://${host}:${port}/`;
      expect(await failureOf(callOutbound(address, { method: "GET" }, shut))).toBeInstanceOf(AddressRefused);
      expect(connections).toBe(0);
    }
    // The same call when it is allowed, so that the count means something.
    await failureOf(callOutbound(`https://localhost:${port}/`, { method: "GET" }, open));
    expect(connections).toBe(1);
    tcp.close();
  });

  test("is refused like plain http and other schemes", async () => {
    for (const address of [
      "http://example.com/",
      "ftp://example.com/",
      "file:///etc/passwd",
      "no address",
      "",
    ]) {
      const failure = await failureOf(callOutbound(address, { method: "GET" }, shut));
      expect(failure).toBeInstanceOf(AddressRefused);
      expect(failure.message).toContain("https");
    }
    const file = callOutbound("file:///etc/passwd", { method: "GET" }, open);
    expect(await failureOf(file)).toBeInstanceOf(AddressRefused);
  });
});

test.each([
  ["8.8.8.8", true],
  ["1.1.1.1", true],
  ["100.63.255.255", true],
  ["100.128.0.0", true],
  ["172.15.255.255", true],
  ["172.32.0.0", true],
  ["192.0.1.0", true],
  ["198.20.0.0", true],
  ["223.255.255.255", true],
  ["2606:4700:4700::1111", true],
  ["2001:4860:4860::8888", true],
  ["2a00:1450:4001::1", true],
  ["0.0.0.0", false],
  ["0.1.2.3", false],
  ["10.0.0.0", false],
  ["10.255.255.255", false],
  ["100.64.0.0", false],
  ["100.100.100.200", false],
  ["100.127.255.255", false],
  ["127.0.0.1", false],
  ["127.255.255.254", false],
  ["168.63.129.16", false],
  ["169.254.0.1", false],
  ["169.254.169.254", false],
  ["172.16.0.0", false],
  ["172.31.255.255", false],
  ["192.0.0.192", false],
  ["192.0.2.1", false],
  ["192.88.99.1", false],
  ["192.168.0.1", false],
  ["198.18.0.1", false],
  ["198.19.255.255", false],
  ["198.51.100.1", false],
  ["203.0.113.1", false],
  ["224.0.0.1", false],
  ["239.255.255.250", false],
  ["240.0.0.1", false],
  ["255.255.255.255", false],
  // The last addresses of networks.
  ["0.255.255.255", false],
  ["192.0.0.255", false],
  ["192.0.2.255", false],
  ["192.88.99.255", false],
  ["192.168.255.255", false],
  ["198.51.100.255", false],
  ["203.0.113.255", false],
  ["2001:1ff:ffff::", false],
  ["2001:db8:ffff::", false],
  ["2002:ffff::", false],
  ["3fff:fff::", false],
  ["3ffe::1", true],
  ["::", false],
  ["::1", false],
  ["::7f00:1", false],
  ["::ffff:127.0.0.1", false],
  ["::ffff:8.8.8.8", false],
  ["::ffff:0:127.0.0.1", false],
  ["64:ff9b::7f00:1", false],
  ["64:ff9b:1::7f00:1", false],
  ["100::1", false],
  ["2001::1", false],
  ["2001:db8::1", false],
  ["2002:7f00:1::", false],
  ["3fff::1", false],
  ["5f00::1", false],
  ["fc00::1", false],
  ["fd00:ec2::254", false],
  ["fe80::1", false],
  ["fe80::1%eth0", false],
  ["2606:4700:4700::1111%eth0", false],
  ["fec0::1", false],
  ["ff02::1", false],
  ["localhost", false],
  ["", false],
])("whether %s is public: %p", (address, isPublic) => {
  expect(isPublicAddress(address)).toBe(isPublic);
});

test.each([
  [429, "rate-limit"],
  [408, "unavailable"],
  [502, "unavailable"],
  [503, "unavailable"],
  [504, "unavailable"],
  [400, undefined],
  [500, undefined],
] as const)("the status %d says of other messages: %p", (status, cause) => {
  expect(causeOf(status)).toBe(cause);
});

test.each([
  ["30", 30_000],
  [" 0 ", 0],
  ["Sat, 21 Nov 2026 12:00:30 GMT", 30_000],
  ["Saturday, 21-Nov-26 12:00:30 GMT", 30_000],
  ["Sat, 21 Nov 2026 11:00:00 GMT", 0],
  ["-5", undefined],
  ["1.5", undefined],
  ["soon", undefined],
  ["Sat", undefined],
  ["", undefined],
  [undefined, undefined],
])("Retry-After %p is %p ms", (header, waitMs) => {
  expect(readRetryAfterMs(header, Date.UTC(2026, 10, 21, 12))).toBe(waitMs);
});

async function failureOf(call: Promise<unknown>): Promise<Error> {
  return call.then(
    () => Promise.reject(new Error("The call succeeded.")),
    (error: Error) => error,
  );
}

/** For localhost, self-signed, until 2126. */
const certificate = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUYy3iT0bMJwyyx+gYXJZ7Jjj/JbMwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTExNTUyOVoYDzIxMjYxMDI4
MTE1NTI5WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARM0VBLL7fuqyohjWZO8WjWPVffy4F9iB1FMc80kZc4QeOgdMJxOy8W
7rntwz7QY0LvohW549V8j78zY5KFzJjAo28wbTAdBgNVHQ4EFgQUfCrkDXE3uAHi
ZfJhDi8bdt+cUNowHwYDVR0jBBgwFoAUfCrkDXE3uAHiZfJhDi8bdt+cUNowDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIgc1HmiqJsEN+4z5KHhVOKr+jWIm7mpda8HViVfnQY5sYCIQCi
0fFdMCBpgnXr+NBSYX9MhDIfkwtPDql3t4u+SIvL3A==
-----END CERTIFICATE-----`;
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgWgD7PqXA3A/uYSHV
+0LZPHMQlRK5yJxZpsQIluBZtFChRANCAARM0VBLL7fuqyohjWZO8WjWPVffy4F9
iB1FMc80kZc4QeOgdMJxOy8W7rntwz7QY0LvohW549V8j78zY5KFzJjA
-----END PRIVATE KEY-----`;

test("a name of the server's own network fails like one that doesn't exist", async () => {
  const own = hostname();
  const failures = await Promise.all(
    [own, "tidings.invalid"].map((host) =>
      failureOf(callOutbound(`https://${host}/`, { method: "GET" }, shut)),
    ),
  );
  for (const [index, host] of [own, "tidings.invalid"].entries()) {
    expect(failures[index]).toBeInstanceOf(OutboundFailure);
    expect(failures[index]!.message).toBe(`The host name ${host} was not found, or has no public address.`);
  }
});

test("nothing else calls addresses", () => {
  const server = resolve(import.meta.dir, "..");
  const calls =
    /(?<![\w.#])fetch\(|\bfrom "(?:node:)?(?:https?|http2|undici)"|\bnew (?:WebSocket|EventSource)\(/;
  const callers = readdirSync(server, { recursive: true, encoding: "utf8" })
    .filter((path) => /^(?!node_modules|testing|e2e).*(?<!\.test)\.ts$/.test(path))
    .filter((path) => calls.test(readFileSync(join(server, path), "utf8")));
  expect(callers.toSorted()).toEqual([
    // Commands call their own server, and the doctor calls the public address of the settings.
    "commands/healthcheck.ts",
    "commands/source.ts",
    "doctor/check-machine.ts",
    "notifications/outbound.ts",
    // Answers requests with the functions of that name.
    "serve.ts",
  ]);
});
