import { isbot } from "isbot";
import { LRUCache } from "lru-cache";
import { UAParser } from "ua-parser-js";

/** What the user agent says of a page's browser. */
export type Browser = { device: "desktop" | "phone" | "tablet"; browser: string; os: string; isBot: boolean };

/** Longer user agents are made up. */
const userAgentCharacters = 1_000;

/** Parsing takes some 50 microseconds, and a site's visitors share few user agents. */
const known = new LRUCache<string, Browser>({ max: 5_000 });

/** Other names that the parser has for the same thing. */
const shortNames: Record<string, string> = {
  "Mac OS": "macOS",
  "Mobile Safari": "Safari",
  "Mobile Chrome": "Chrome",
  "Chrome Headless": "Chrome",
  "Chrome WebView": "Chrome",
  "Mobile Firefox": "Firefox",
};

/**
 * Reads a user agent. Bots are recognized by it, as most of them name themselves; one without any is a bot.
 *
 * @param hasTouch - tells tablets of Apple's, which call themselves Macs
 */
export function browserOf(userAgent: string | null, hasTouch: boolean): Browser {
  const text = (userAgent ?? "").slice(0, userAgentCharacters);
  const found = known.get(text) ?? parse(text);
  known.set(text, found);
  return hasTouch && found.os === "macOS" ? { ...found, device: "tablet", os: "iOS" } : found;
}

function parse(userAgent: string): Browser {
  const { browser, os, device } = new UAParser(userAgent).getResult();
  const isPhone = device.type === "mobile" || device.type === "wearable";
  return {
    device: device.type === "tablet" ? "tablet" : isPhone ? "phone" : "desktop",
    browser: nameOf(browser.name),
    os: nameOf(os.name),
    isBot: userAgent === "" || isbot(userAgent),
  };
}

function nameOf(name: string | undefined): string {
  return name === undefined ? "Other" : (shortNames[name] ?? name);
}
