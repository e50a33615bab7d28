import { type ComponentType, use } from "react";
import { currentStatus } from "../live/connection.ts";

/** Why a part of the dashboard could not be loaded. */
export type MissingReason = "unreachable" | "updated" | "unknown";

const sentences: Record<MissingReason, string> = {
  unreachable: "Can't reach the server. This opens as soon as it's back.",
  updated: "Tidings was updated while this tab was open. Reload to continue.",
  unknown: "This part couldn't be loaded. Reload to try again.",
};

export class PartError extends Error {
  readonly reason: MissingReason;

  constructor(reason: MissingReason, cause: unknown) {
    super(sentences[reason], { cause });
    this.name = "PartError";
    this.reason = reason;
  }
}

/** A failed load is tried again when the part is next drawn, but not within the same attempt to draw it. */
const attemptMs = 300;

/**
 * Like React's `lazy`, for code that is loaded on first use; but what failed to load is tried again, and its error says
 * whether the server is away or has been updated.
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

  // biome-ignore lint/correctness/noComponentHookFactories: called once for each part, at the top of a module
  function Part(props: Props) {
    if (!Loaded) use(start());
    const Component = Loaded!;
    return <Component {...props} />;
  }
  /** Never rejects: the error shows when the part is drawn. */
  Part.preload = () => start().catch(() => {});
  return Part;
}

/** A browser remembers a failed import and never tries it again: while the server is away there is none. */
async function loadIfReachable<Loaded>(load: () => Promise<Loaded>): Promise<Loaded> {
  if (currentStatus() === "reconnecting" && (await servedEntry()) === null) throw new Error("No connection");
  return load();
}

const ownEntry = document.querySelector('script[type="module"][src]')?.getAttribute("src");

/** The files of an older build are gone after an update, which shows in the entry script's name. */
async function missingReason(): Promise<MissingReason> {
  const entry = await servedEntry();
  if (entry === null) return "unreachable";
  return entry === ownEntry ? "unknown" : "updated";
}

async function servedEntry(): Promise<string | null> {
  try {
    const response = await fetch("/index.html", { cache: "no-store" });
    if (!response.ok) return null;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    return page.querySelector('script[type="module"][src]')?.getAttribute("src") ?? null;
  } catch {
    return null;
  }
}

const reloadedKey = "tidings.reloaded-from";

/** Reloads the page for the sake of a newer build; only once, should that build be broken. Whether it does. */
export function reloadOnce(): boolean {
  try {
    if (sessionStorage.getItem(reloadedKey) === ownEntry) return false;
    sessionStorage.setItem(reloadedKey, ownEntry ?? "");
  } catch {
    // Without storage nothing would end a loop of reloads.
    return false;
  }
  location.reload();
  return true;
}
