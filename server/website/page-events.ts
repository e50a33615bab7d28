import { eventOf } from "../drop-in/event.ts";
import type { Item } from "../drop-in/item.ts";
import {
  engagementName,
  pageViewName,
  type WebsiteEvent,
  type WebsiteEvents,
  websiteChannel,
} from "../schemas/website.ts";
import { browserOf } from "./browser.ts";
import type { CountryLookup } from "./countries.ts";
import { type Source, sourceOf } from "./sources.ts";

/** Events of pages are younger than so many milliseconds when they arrive, or say their time. */
const promptMs = 1_000;

/** Where an event stands in its visit; null if the visit isn't known. */
export type Place = { userId: string; session: string | null; isEntry: boolean };

/** What a request says of the visitor. */
export type Client = { address: string | null; userAgent: string | null };

/** The tags that all events of a request have. */
export function clientTags(
  { language, timeZone, touch = false }: Pick<WebsiteEvents, "language" | "timeZone" | "touch">,
  { address, userAgent }: Client,
  countryOf: CountryLookup,
): Record<string, string> {
  const { device, browser, os, isBot } = browserOf(userAgent, touch);
  const country = countryOf(address, timeZone);
  const primary = /^[a-z]{2,3}(?=-|$)/i.exec(language ?? "")?.[0].toLowerCase();
  return {
    ...{ device, browser, os },
    ...(primary !== undefined && { language: primary }),
    ...(country !== undefined && { country }),
    ...(isBot && { bot: "true" }),
  };
}

/** When an event happened, in milliseconds since 1970. */
export function timeOf({ age = 0 }: WebsiteEvent, nowMs: number): number {
  return nowMs - age;
}

/** The page of an event; null if its address is none of a page. */
export function pageOf({ url }: WebsiteEvent): URL | null {
  const page = URL.parse(url);
  return page && /^https?:$/.test(page.protocol) ? page : null;
}

/** The event to record for one of a page. The server's tags come before the page's own, which can be too many. */
export function itemOf(
  sent: WebsiteEvent,
  page: URL,
  { channel = websiteChannel }: Pick<WebsiteEvents, "channel">,
  tags: Record<string, string>,
  { userId, session, isEntry }: Place,
  nowMs: number,
): Item {
  const { id, name, age = 0, referrer } = sent;
  const isView = name === pageViewName;
  const properties = {
    path: page.pathname + page.hash,
    host: page.host,
    ...(isView && sourceTags(sourceOf(page, referrer), isEntry)),
    ...(isEntry && { entry: "true" }),
    ...(session !== null && { session }),
    ...tags,
  };
  const event = eventOf(
    {
      ...{ channel, name, userId },
      properties: { ...properties, ...without(sent.tags ?? {}, properties) },
      ...(age >= promptMs && { createdAtMs: timeOf(sent, nowMs) }),
    },
    nowMs,
  );
  return { event: { ...event, id }, sent };
}

/** Visits that come from nowhere have the source "Direct", as people type an address or open a bookmark. */
function sourceTags({ source, referrer, campaign }: Source, isEntry: boolean): Record<string, string> {
  return {
    ...(referrer !== undefined && { referrer }),
    ...(source !== undefined ? { source } : isEntry && { source: "Direct" }),
    ...campaign,
  };
}

function without(tags: Record<string, unknown>, known: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(tags).filter(([key]) => !Object.hasOwn(known, key)));
}

/** Whether an event can begin a visit. To have read a page belongs to the visit of that page. */
export function beginsVisit({ name }: WebsiteEvent): boolean {
  return name !== engagementName;
}
