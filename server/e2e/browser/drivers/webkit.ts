import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../../../testing/until.ts";
import type { Key, TestBrowser } from "./browser.ts";
import { recordingProxy } from "./recording-proxy.ts";

const scriptMaxMs = 30_000;
/** Makes the toolbar small, because a window is at least as wide: by default, wider than a phone. */
const toolbarStyle = "button, entry { min-width: 0; padding: 0; border: 0; font-size: 1px; }";

/** How WebDriver calls the keys that have no character (https://www.w3.org/TR/webdriver2/#keyboard-actions). */
const keyCodes: Partial<Record<Key, string>> = {
  Control: "\uE009",
  Shift: "\uE008",
  Enter: "\uE007",
  Escape: "\uE00C",
  Tab: "\uE004",
  ArrowDown: "\uE015",
  ArrowRight: "\uE014",
};

/** WebKitGTK, the engine of Safari, in a window of a virtual screen, driven by WebDriver. */
export async function openWebKit(binary: string): Promise<TestBrowser> {
  const home = await mkdtemp(join(tmpdir(), "tidings-webkit-"));
  await Bun.write(join(home, "gtk-3.0/gtk.css"), toolbarStyle);
  const screen = Bun.spawn(["Xvfb", "-displayfd", "1", "-screen", "0", "2048x1536x24", "-nolisten", "tcp"], {
    stdout: "pipe",
    stderr: "ignore",
  });
  const display = await firstLine(screen.stdout);
  const port = await freePort();
  const driver = Bun.spawn(["WebKitWebDriver", `--port=${port}`], {
    env: {
      ...process.env,
      DISPLAY: `:${display}`,
      LC_ALL: "C.UTF-8",
      LANGUAGE: "en_US",
      XDG_CONFIG_HOME: home,
    },
    stdout: "ignore",
    stderr: "ignore",
  });
  const base = `http://127.0.0.1:${port}`;
  await until(() =>
    fetch(`${base}/status`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  const alwaysMatch = {
    browserName: "MiniBrowser",
    "webkitgtk:browserOptions": { binary, args: ["--automation"] },
    timeouts: { script: scriptMaxMs },
  };
  async function stop() {
    driver.kill();
    screen.kill();
    await Promise.all([driver.exited, screen.exited]);
    await rm(home, { recursive: true });
  }
  const { sessionId, capabilities } = await command<{
    sessionId: string;
    capabilities: { browserVersion: string };
  }>(base, "POST", "/session", { capabilities: { alwaysMatch } }).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const session = `${base}/session/${sessionId}`;
  const send = <Value>(path: string, body: object) => command<Value>(session, "POST", path, body);

  const proxies = new Map<string, ReturnType<typeof recordingProxy>>();
  let complaints: string[] = [];
  /** The same address, by way of a proxy that records the page's errors: WebDriver doesn't report them. */
  function recorded(url: string): string {
    const { origin, href } = new URL(url);
    let proxy = proxies.get(origin);
    if (!proxy) {
      proxy = recordingProxy(origin, (complaint) => complaints.push(complaint));
      proxies.set(origin, proxy);
    }
    return href.replace(origin, proxy.origin);
  }

  const act = (type: "pointer" | "key", actions: object[]) =>
    send("/actions", {
      actions: [
        { type, id: type, actions, ...(type === "pointer" && { parameters: { pointerType: "mouse" } }) },
      ],
    });
  const keyDown = (value: string) => ({ type: "keyDown", value });
  const keyUp = (value: string) => ({ type: "keyUp", value });
  const evaluate = async <Value>(expression: string) => {
    const script = `const done = arguments[0];
      (async () => ({ value: await (${expression}) }))().then(done, (error) => done({ error: String(error) }));`;
    const result = await send<{ value: Value; error?: string }>("/execute/async", { script, args: [] });
    if (result.error !== undefined) throw new Error(result.error);
    return result.value;
  };

  return {
    name: `WebKitGTK ${capabilities.browserVersion}`,
    open: async (url) => void (await send("/url", { url: recorded(url) })),
    back: async () => void (await send("/back", {})),
    async closeTab() {
      const { handle } = await send<{ handle: string }>("/window/new", { type: "tab" });
      await command(session, "DELETE", "/window");
      await send("/window", { handle });
    },
    evaluate,
    click: async (x, y) =>
      void (await act("pointer", [
        { type: "pointerMove", x: Math.round(x), y: Math.round(y), duration: 0 },
        { type: "pointerDown", button: 0 },
        { type: "pointerUp", button: 0 },
      ])),
    type: async (text) =>
      void (await act(
        "key",
        [...text].flatMap((character) => [keyDown(character), keyUp(character)]),
      )),
    async press(...keys) {
      const values = keys.map((key) => keyCodes[key] ?? key);
      await act("key", [...values.map(keyDown), ...values.toReversed().map(keyUp)]);
    },
    async resize(width, height) {
      // A window is larger than its viewport by its frame.
      const size = "({ width: innerWidth, height: innerHeight })";
      const rect = await command<{ width: number; height: number }>(session, "GET", "/window/rect");
      const shown = await evaluate<typeof rect>(size);
      await send("/window/rect", {
        width: width + rect.width - shown.width,
        height: height + rect.height - shown.height,
      });
      await until(async () => {
        const now = await evaluate<typeof rect>(size);
        return now.width === width && now.height === height;
      });
    },
    screenshot: async () => Uint8Array.fromBase64(await command<string>(session, "GET", "/screenshot")),
    takeComplaints() {
      const taken = complaints;
      complaints = [];
      return taken;
    },
    async close() {
      await command(session, "DELETE", "").catch(() => {});
      await stop();
      for (const proxy of proxies.values()) await proxy.stop();
    },
  };
}

async function command<Value>(base: string, method: string, path: string, body?: object): Promise<Value> {
  const response = await fetch(base + path, { method, ...(body && { body: JSON.stringify(body) }) });
  const { value } = (await response.json()) as { value: Value & { error?: string; message?: string } };
  if (!response.ok) throw new Error(`WebDriver: ${path}: ${value.error}: ${value.message}`);
  return value;
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const chunk of stream) {
    text += new TextDecoder().decode(chunk);
    if (text.includes("\n")) break;
  }
  return text.trim();
}

async function freePort(): Promise<number> {
  const probe = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const { port } = probe;
  await probe.stop(true);
  return port!;
}
