import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import type { Config } from "../../config/config.ts";
import type { Role } from "../../core/permissions.ts";
import type { Event } from "../../event/event.ts";
import { serve } from "../../serve.ts";
import { environmentOf, patienceMs, removeStorage } from "../../testing/engine.ts";
import { startServer } from "../../testing/server-process.ts";
import { preparedConfig, testPassword, testPasswords } from "../../testing/test-app.ts";
import { launchChromium } from "./chromium.ts";

export const ownerEmail = "owner@example.com";

export type TestDashboard = Awaited<ReturnType<typeof openDashboard>>;

type Started = { address: string; stop: () => Promise<void> };

/**
 * A real server with the project "default", and a real Chromium signed in to its dashboard. The server can be stopped
 * and restarted at the same address.
 *
 * @param flags - additional command-line flags of Chromium
 * @param change - settings that differ from the defaults
 * @param start - starts the server; by default in this process
 */
export async function openDashboard({
  flags = [],
  change = {},
  start = (config) => serve(config, { passwords: testPasswords }),
}: {
  flags?: string[];
  change?: Partial<Config>;
  start?: (config: Config) => Promise<Started>;
} = {}) {
  const { config, secret } = await preparedConfig(change);
  let running: Started | null = await start(config);
  const { address } = running;
  const settings = { ...config, port: Number(new URL(address).port) };
  const browser: Browser = await launchChromium(flags);
  const cookies = await signIn(address);

  async function newContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    // Shorter than a test's time limit, which would close the browser for all later tests.
    context.setDefaultTimeout(patienceMs);
    await context.addCookies(cookies.map((cookie) => ({ ...cookie, url: address })));
    return context;
  }

  async function request(path: string, init: RequestInit): Promise<Response> {
    const headers = { ...(init.headers as Record<string, string>), "x-api-key": secret };
    const response = await fetch(address + path, { ...init, headers });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return response;
  }

  return {
    address,
    browser,
    key: secret,
    cookies,
    newContext,
    /** Opens a path in a new page of a new context. */
    async open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
      const page = await (await newContext(options)).newPage();
      await page.goto(address + path);
      return page;
    },
    /** Opens a path as a new member of the project with this role. */
    async openAs(role: Role, path: string): Promise<Page> {
      const { request } = await newContext();
      const post = async (by: typeof request, to: string, data: object) =>
        (await by.post(address + to, { data, headers: { origin: address } })).json();
      const email = `${role}@example.com`;
      const { link } = await post(request, "/api/invitations?project=default", { role, email });
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
      context.setDefaultTimeout(patienceMs);
      const page = await context.newPage();
      await page.goto(address + new URL(link).pathname);
      await page.getByLabel("Password").fill(testPassword);
      await page.getByRole("button", { name: "Create account and join" }).click();
      await page.waitForURL(/\/p\/[^/]+$/);
      await page.goto(address + path);
      return page;
    },
    /** Records an event, or an array of them. */
    async post(event: object): Promise<Event> {
      const body = JSON.stringify(event);
      const response = await request("/api/events", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      });
      return ((await response.json()) as { event: Event }).event;
    },
    /** Replaces something with the API key, as another client would. */
    async put(path: string, body: object): Promise<void> {
      const headers = { "content-type": "application/json" };
      await request(path, { method: "PUT", headers, body: JSON.stringify(body) });
    },
    /** Deletes with the API key, as another client would. */
    async delete(path: string): Promise<void> {
      await request(path, { method: "DELETE" });
    },
    async stop(): Promise<void> {
      await running?.stop();
      running = null;
    },
    /** Restarts the server at the same address, unless it is running. */
    async start(): Promise<void> {
      running ??= await start(settings);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await browser.close();
      await running?.stop();
      await removeStorage(config);
    },
  };
}

/** Like `openDashboard`, but the server is a separate process that can be killed or frozen. */
export async function openDashboardOfProcess() {
  let server: Awaited<ReturnType<typeof startServer>>;
  const dashboard = await openDashboard({
    start: async (config) => {
      server = await startServer({ ...environmentOf(config), PORT: String(config.port) });
      const { address, end } = server;
      return { address, stop: async () => void (await end("SIGTERM")) };
    },
  });
  return {
    ...dashboard,
    /** Kills the server as a power cut would, without a graceful shutdown. */
    async kill(): Promise<void> {
      await server.end("SIGKILL");
      await dashboard.stop();
    },
    /** Keeps the server from responding until `resume`. */
    freeze: () => process.kill(server.pid, "SIGSTOP"),
    resume: () => process.kill(server.pid, "SIGCONT"),
  };
}

/** Records 300 events of the last hour, "Number 0" to "Number 299", in the channel "history". */
export async function recordHistory(dashboard: TestDashboard): Promise<void> {
  const startMs = Date.now() - 3_600_000;
  await dashboard.post(
    Array.from({ length: 300 }, (_, index) => ({
      channel: "history",
      name: `Number ${index}`,
      createdAt: startMs + index * 1_000,
    })),
  );
}

/** Scrolls the history down to "Number 222" and returns the scroll position. */
export async function scrollHistory(page: Page): Promise<number> {
  const list = page.getByRole("feed").locator("..");
  await list.evaluate((element) => element.scrollTo(0, 4_000));
  await page.getByRole("article").filter({ hasText: "Number 222" }).waitFor();
  return scrollTopOf(page);
}

/** The feed's scroll position, in pixels. */
export function scrollTopOf(page: Page): Promise<number> {
  return page.getByRole("feed").evaluate((feed) => feed.parentElement!.scrollTop);
}

/** Signs in as the owner; returns the session's cookies. */
async function signIn(address: string): Promise<{ name: string; value: string }[]> {
  const response = await fetch(`${address}/api/auth/sign-in/email`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: address },
    body: JSON.stringify({ email: ownerEmail, password: testPassword }),
  });
  if (!response.ok) throw new Error(`Signing in answered ${response.status}: ${await response.text()}`);
  return response.headers.getSetCookie().map((cookie) => {
    const [pair] = cookie.split(";");
    const at = pair!.indexOf("=");
    return { name: pair!.slice(0, at), value: pair!.slice(at + 1) };
  });
}
