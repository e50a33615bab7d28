import { existsSync } from "node:fs";

/**
 * What tests need of a browser: the few things that each protocol can do. What people see and do is written on top of
 * it, once for all browsers, in `visitor.ts`.
 */
export type TestBrowser = {
  /** Such as "Firefox 153.7.0". */
  name: string;
  /** Loads an address of the server. Resolves once it has loaded. */
  open(url: string): Promise<void>;
  /** Goes back, as the button does. Resolves once that page has loaded. */
  back(): Promise<void>;
  /** Closes the tab, as its user does, and opens an empty one. */
  closeTab(): Promise<void>;
  /** Evaluates an expression in the page. Its value, which is awaited, must be JSON. */
  evaluate<Value>(expression: string): Promise<Value>;
  /** Moves the mouse to a point of the viewport, in CSS pixels, and presses it. */
  click(x: number, y: number): Promise<void>;
  /** Types text into what has the focus. */
  type(text: string): Promise<void>;
  /** Presses a key together with others, such as `press("Control", "a")`. */
  press(...keys: Key[]): Promise<void>;
  /** Changes the size of the viewport, in CSS pixels. */
  resize(width: number, height: number): Promise<void>;
  /** A picture of the viewport, as PNG. */
  screenshot(): Promise<Uint8Array>;
  /** The uncaught errors and console errors since the last call. */
  takeComplaints(): string[];
  close(): Promise<void>;
};

export type Key = "Control" | "Shift" | "Enter" | "Escape" | "Tab" | "ArrowDown" | "ArrowRight" | "a" | "e";

/** Where Debian's Firefox is. */
const debiansFirefox = "/usr/bin/firefox-esr";

/** The Firefox to test with, or null. */
export function findFirefox(): string | null {
  const { TIDINGS_TEST_FIREFOX: path } = process.env;
  return path || (existsSync(debiansFirefox) ? debiansFirefox : null);
}

/**
 * Opens the Firefox of `TIDINGS_TEST_FIREFOX`, or the WebKit of `TIDINGS_TEST_WEBKIT`, or else Chromium. `npm run
 * test:browsers` installs them.
 */
export async function openBrowser(): Promise<TestBrowser> {
  const { TIDINGS_TEST_FIREFOX: firefox, TIDINGS_TEST_WEBKIT: webKit } = process.env;
  if (firefox) return (await import("./firefox.ts")).openFirefox(firefox);
  if (webKit) return (await import("./webkit.ts")).openWebKit(webKit);
  return (await import("./chromium.ts")).openChromium();
}
