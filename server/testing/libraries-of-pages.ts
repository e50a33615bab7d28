/** What a web page loads in `drop-in/browsers.test.ts`. */
import { type Analytics, AnalyticsBrowser } from "@segment/analytics-next";
import posthog from "posthog-js";

/** The globals of that page. */
export type PageGlobals = {
  AnalyticsBrowser: typeof AnalyticsBrowser;
  posthog: typeof posthog;
  /** Once the page has made it. */
  analytics: Pick<Analytics, "track">;
};

Object.assign(globalThis, { AnalyticsBrowser, posthog });
