/** What a web page loads in `drop-in/browsers.test.ts`. */
import { AnalyticsBrowser } from "@segment/analytics-next";
import posthog from "posthog-js";

Object.assign(globalThis, { AnalyticsBrowser, posthog });
