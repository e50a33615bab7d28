import { type ComponentType, use } from "react";
import { currentStatus } from "../live/connection.ts";

/** Why a part of the dashboard could not be loaded. */
export type MissingReason = "unreachable" | "updated" | "unknown";

const messages: Record<MissingReason, string> = {
  unreachable: "Can't reach the server. This opens as soon as it's back.",
  updated: "Tidings was updated while this tab was open. Reload to continue.",
  unknown: "This part couldn't be loaded. Reload to try again.",
};

export class PartError extends Error {
  readonly reason: MissingReason;

  constructor(reason: MissingReason, cause: unknown) {
    super(messages[reason], { cause });
    this.name = "PartError";
    this.reason = reason;
  }
}

/** A failed load is retried on the next render, but not while the same render attempt is still going on. */
const attemptMs = 300;

/**
 * Like React's `lazy`, but a failed load is retried, and its error says whether the server is unreachable or has been
 * updated.
 *
 * Invariant: the scripts `vendor` and `index` contain what the first page needs and what reports errors. Everything
 * else is loaded on first use, and each file of the first load has a budget. Checked by
 * `server/e2e/browser/first-load-budget.ts`.
 */
export function lazyPart<Props extends object>(load: () => Promise<ComponentType<Props>>) {
  let Loaded: ComponentType<Props> | undefined;
  let loading: Promise<void> | undefined;
  let failedAtMs = Number.POSITIVE_INFINITY;

  function start(): Promise<void> {
    if (loading && performance.now() - failedAtMs < attemptMs) return loading;
    failedAtMs = Number.POSITIVE_INFINITY;
    loading = loadIfReachable(load).then(
      (component) => {
        Loaded = component;
      },
      async (error) => {
        const reason = await missingReason();
        failedAtMs = performance.now();
        throw new PartError(reason, error);
      },
    );
    return loading;
  }

  // Called once for each part, at the top of a module.
  function Part(props: Props) {
    if (!Loaded) use(start());
    const Component = Loaded!;
    return <Component {...props} />;
  }
  /** Never rejects; the error is thrown on render. */
  Part.preload = () => start().catch(() => {});
  return Part;
}

/** Browsers cache failed imports, so nothing is imported while the server is unreachable. */
async function loadIfReachable<Loaded>(load: () => Promise<Loaded>): Promise<Loaded> {
  if (currentStatus() === "reconnecting" && (await fetchEntryName()) === null)
    throw new Error("No connection");
  return load();
}

const currentEntry = document.querySelector('script[type="module"][src]')?.getAttribute("src");

/** After an update the old build's files are gone; the name of the entry script shows it. */
async function missingReason(): Promise<MissingReason> {
  const entry = await fetchEntryName();
  if (entry === null) return "unreachable";
  return entry === currentEntry ? "unknown" : "updated";
}

async function fetchEntryName(): Promise<string | null> {
  try {
    const response = await fetch("/index.html", { cache: "no-store" });
    if (!response.ok) return null;
    return /<script type="module"[^>]* src="([^"]+)"/.exec(await response.text())?.[1] ?? null;
  } catch {
    return null;
  }
}

const reloadedKey = "tidings.reloaded-from";

/** Reloads the page to get a newer build, at most once in case that build is broken. Returns whether it reloads. */
export function reloadOnce(): boolean {
  try {
    if (sessionStorage.getItem(reloadedKey) === currentEntry) return false;
    sessionStorage.setItem(reloadedKey, currentEntry ?? "");
  } catch {
    // Without storage, nothing would stop a reload loop.
    return false;
  }
  location.reload();
  return true;
}
