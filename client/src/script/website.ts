/**
 * The script of web pages: page views, and what visitors do. It is built into a file that the server has at `/t.js`, and
 * is as small as its features allow: `scripts/check.mjs` has a budget.
 */
import { watchClicks, watchErrors } from "./clicks.ts";
import { createOutbox } from "./outbox.ts";
import { pageEventId } from "./page-event-id.ts";
import { measureReading } from "./reading.ts";
import { readSettings } from "./settings.ts";
import { measureVitals } from "./vitals.ts";

type Tracked = { tags?: Record<string, unknown>; userId?: string };

/** What pages call: `window.tidings`. */
export type WebsiteApi = {
  /** Sends an event of the page's own. */
  track: (name: string, event?: Tracked) => void;
  /** Names the user of all later events; without an ID, nobody. */
  identify: (userId?: string) => void;
  /** Says whether the visitor agrees. Needed first with `data-consent`; false ends what began. */
  consent: (agrees: boolean) => void;
};

/** Where `data-storage` keeps the visitor's ID. */
const storageKey = "tidings-visitor";

const settings = readSettings(document.currentScript as HTMLScriptElement);
const { isOn, has } = settings;
const outbox = createOutbox(settings.endpoint, () => ({
  key: settings.key,
  channel: settings.channel,
  visitor: has("storage") ? storedVisitor() : undefined,
  language: navigator.language,
  timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  touch: navigator.maxTouchPoints > 1,
}));
const isRefused =
  navigator.doNotTrack === "1" || (navigator as { globalPrivacyControl?: boolean }).globalPrivacyControl;
let userId: string | undefined;
let isStarted = false;

/** Values of tags become texts on the server. */
function emit(name: string, tags?: Record<string, unknown>, fields?: EventFields): void {
  outbox.add({ id: pageEventId(), name, url: address(), atMs: Date.now(), userId, tags, ...fields });
}
type EventFields = { url?: string; referrer?: string | undefined; userId?: string };

/** The page's address, with the campaign of its query and nothing else of it, which can be a secret. */
function address(): string {
  const { origin, pathname, search, hash } = location;
  const campaign = [...new URLSearchParams(search)].filter(([key]) => /^(utm_\w+|ref|source)$/.test(key));
  return `${origin}${pathname}${isOn("campaigns") && campaign[0] ? `?${new URLSearchParams(campaign)}` : ""}${has("hash") ? hash : ""}`;
}

/** The ID that this browser keeps; undefined where storage is blocked. */
function storedVisitor(): string | undefined {
  try {
    localStorage[storageKey] ??= pageEventId();
    return localStorage[storageKey];
  } catch {
    return undefined;
  }
}

function start(): void {
  if (isStarted) return;
  isStarted = true;
  // The page that is being read, since views follow each other without a new document.
  let page = address();
  const reading = isOn("time") ? measureReading((tags) => emit("Engagement", tags, { url: page })) : null;
  let vitals = isOn("vitals", false) ? measureVitals() : null;
  const first = page;

  function view(referrer?: string): void {
    reading?.report();
    page = address();
    reading?.begin();
    if (isOn("views")) emit("Page view", undefined, { referrer });
  }

  /** A view, unless only the query changed, or the hash where it is no page. */
  function viewIfNew(): void {
    const pathOf = (url: string) => url.replace(/\?[^#]*/, "");
    if (pathOf(address()) !== pathOf(page)) view();
  }

  function leave(): void {
    if (vitals) emit("Web vitals", vitals(), { url: first });
    vitals = null;
    reading?.report();
    outbox.send();
  }

  const { pushState } = history;
  history.pushState = function (...args) {
    pushState.apply(this, args);
    viewIfNew();
  };
  addEventListener("popstate", viewIfNew);
  addEventListener("hashchange", viewIfNew);
  // The page comes back as it was, by the browser's back button.
  window.addEventListener("pageshow", ({ persisted }) => persisted && view());
  addEventListener("pagehide", leave);
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : reading?.resume()));
  watchClicks(emit, isOn);
  if (isOn("errors", false)) watchErrors(emit);

  // Without its path, which can be secret.
  view(isOn("referrer") ? document.referrer.split("/", 3).join("/") : "");
  const [navigation] = performance.getEntriesByType("navigation") as { responseStatus?: number }[];
  if (isOn("missing") && (has("notFound") || navigation?.responseStatus === 404)) emit("Page not found");
}

/** Begins, unless the browser says that its user doesn't want it. */
function allow(): void {
  if (isRefused) return;
  outbox.open();
  if ((document as { prerendering?: boolean }).prerendering)
    document.addEventListener("prerenderingchange", start, { once: true });
  else start();
}

const api: WebsiteApi = {
  track(name, { tags, ...rest } = {}) {
    if (!isRefused) emit(name, tags, rest);
  },
  identify(id) {
    userId = id;
  },
  consent(agrees) {
    if (agrees) return allow();
    outbox.close();
    try {
      delete localStorage[storageKey];
    } catch {}
  },
};
(globalThis as { tidings?: WebsiteApi }).tidings = api;
if (!has("consent")) allow();
