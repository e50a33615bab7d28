import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { type Running, serve } from "../main.ts";
import type { Event } from "../wire/event.ts";
import { launchChromium } from "./chromium.ts";
import { removePlace } from "./engine.ts";
import { preparedConfig, testPassword } from "./test-app.ts";
import { testPasswords } from "./test-passwords.ts";

const waitMaxMs = 20_000;
export const ownerEmail = "owner@example.com";

export type TestDashboard = Awaited<ReturnType<typeof openDashboard>>;

/**
 * A real server with the project "default", and a real Chromium that is signed in to its dashboard. The server can be
 * stopped and started at the same address.
 */
export async function openDashboard() {
  const { config, secret } = await preparedConfig();
  let running: Running | null = await serve(config, { passwords: testPasswords });
  const { address } = running;
  const settings = { ...config, port: Number(new URL(address).port) };
  const browser: Browser = await launchChromium();
  const cookies = await signIn(address);

  async function newContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    // Less than a test may take: where that ends, the browser is gone for all that follow.
    context.setDefaultTimeout(waitMaxMs);
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
    newContext,
    /** A new page of a new context, at a path. */
    async open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
      const page = await (await newContext(options)).newPage();
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
    /** Deletes with the API key, as somebody else would. */
    async delete(path: string): Promise<void> {
      await request(path, { method: "DELETE" });
    },
    async stop(): Promise<void> {
      await running?.stop();
      running = null;
    },
    /** Starts it again at the same address, unless it runs. */
    async start(): Promise<void> {
      running ??= await serve(settings, { passwords: testPasswords });
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await browser.close();
      await running?.stop();
      await removePlace(config);
    },
  };
}

/** The cookies of a new session of the owner. */
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
