import { afterAll, beforeAll, expect, test } from "bun:test";
import { freezingProxy } from "../testing/freezing-proxy.ts";
import { longTest } from "../testing/long-test.ts";
import { spawnTidings } from "../testing/server-process.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import { follow } from "./follow.ts";
import type { Source } from "./source.ts";

const lost = "Connection lost; reconnecting …";
const again = "Connected again.";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

/** Runs `tidings tail -f` through a proxy, and collects what it prints. */
function tail(url: string, channel: string) {
  const args = ["tail", "-f", "-n", "0", "--json", "--channel", channel, "--url", url];
  const child = spawnTidings(args, { TIDINGS_API_KEY: app.key }, "");
  const printed = { stdout: "", stderr: "" };
  const collect = async (name: "stdout" | "stderr") => {
    for await (const bytes of child[name]) printed[name] += new TextDecoder().decode(bytes);
  };
  void collect("stdout");
  void collect("stderr");
  const names = () =>
    printed.stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => (JSON.parse(line) as { name: string }).name);
  return { printed, names, [Symbol.dispose]: () => child.kill() };
}

/** Posts events until the first arrives: the stream is open then. */
async function untilOpen(channel: string, names: () => string[]): Promise<void> {
  await until(async () => {
    if (names().length === 0) await app.post({ channel, name: "open" });
    return names().length > 0;
  });
}

test("tail -f says when its connection breaks and when it is back, and prints each event once", async () => {
  using proxy = await freezingProxy(app.address);
  using tailing = tail(proxy.url, "broken");
  await untilOpen("broken", tailing.names);
  proxy.destroy();
  await app.post({ channel: "broken", name: "meanwhile" });
  await until(() => tailing.printed.stderr.includes(again));
  await app.post({ channel: "broken", name: "after" });
  await until(() => tailing.names().includes("after"));
  expect(tailing.names().filter((name) => name !== "open")).toEqual(["meanwhile", "after"]);
  expect(tailing.printed.stderr).toBe(`${lost}\n${again}\n`);
});

longTest("tail -f notices a connection that is silent, within 40 seconds", async () => {
  using proxy = await freezingProxy(app.address);
  using tailing = tail(proxy.url, "silent");
  await untilOpen("silent", tailing.names);
  proxy.freeze();
  await app.post({ channel: "silent", name: "meanwhile" });
  await until(() => tailing.names().includes("meanwhile"), 55_000);
  expect(tailing.printed.stderr).toBe(`${lost}\n${again}\n`);
});

test("a silent connection is given up, and no event is lost or repeated", async () => {
  using proxy = await freezingProxy(app.address);
  const source = {
    request: (path, init) => {
      const headers = new Headers(init?.headers);
      headers.set("x-api-key", app.key);
      return fetch(proxy.url + path, { ...init, headers });
    },
  } as Pick<Source, "request"> as Source;
  const names: string[] = [];
  const states: string[] = [];
  const ready = Promise.withResolvers<void>();
  const end = new Error("seen enough");
  const following = follow(
    source,
    new URLSearchParams({ channel: "frozen" }),
    {
      onReady: async () => ready.resolve(),
      async onEvent({ name }) {
        names.push(name);
      },
      onState(sentence) {
        states.push(sentence);
        if (names.length === 3) throw end;
      },
    },
    500,
  ).catch((error) => error);
  await ready.promise;
  await app.post({ channel: "frozen", name: "before" });
  await until(() => names.length === 1);
  proxy.freeze();
  await app.post({ channel: "frozen", name: "meanwhile" });
  await until(() => names.length === 2);
  await app.post({ channel: "frozen", name: "after" });
  expect(await following).toBe(end);
  expect(names).toEqual(["before", "meanwhile", "after"]);
  expect(states.slice(0, 2)).toEqual([lost, again]);
});
