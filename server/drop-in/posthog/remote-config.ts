import { isPublishable } from "../../auth/key-secret.ts";
import { dataHeaders, problem } from "../../core/problems.ts";

/**
 * Features of the library for browsers: autocapture, which needs no script from a server of PostHog's. Nothing
 * is said of surveys, because the library loads their script even if they are off.
 */
const features = {
  autocapture_opt_out: false,
  autocaptureExceptions: false,
  captureDeadClicks: false,
  capturePerformance: false,
  conversations: false,
  heatmaps: false,
  productTours: false,
  sessionRecording: false,
  supportedCompression: ["gzip", "gzip-js"],
  toolbarParams: {},
  isAuthenticated: false,
} as const;

/** The response to a question for feature flags: there are none. */
export const noFlags = {
  ...features,
  flags: {},
  featureFlags: {},
  featureFlagPayloads: {},
  errorsWhileComputingFlags: false,
  config: { enable_collect_everything: false },
};

/** The settings that the library for browsers asks for. All projects have the same. */
export const remoteConfig = {
  ...features,
  errorTracking: { autocaptureExceptions: false },
  logs: { captureConsoleLogs: false },
  siteApps: [],
};

/** The same as a script, which leaves them where the library finds them. */
export function remoteConfigScript(key: string): Response {
  const settings = JSON.stringify({ config: remoteConfig, siteApps: [] });
  return new Response(`(window._POSTHOG_REMOTE_CONFIG ??= {})[${JSON.stringify(key)}] = ${settings};\n`, {
    headers: {
      ...dataHeaders,
      "content-type": "text/javascript; charset=utf-8",
      // The pages that load it are of other sites.
      "cross-origin-resource-policy": "cross-origin",
    },
  });
}

/** Throws `route-unknown` for what isn't written like a publishable key. */
export function checkKeyInPath(key: string): void {
  if (!isPublishable(key))
    throw problem("route-unknown", { detail: "There are settings only for publishable keys." });
}
