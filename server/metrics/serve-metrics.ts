import type { SegmentShipper } from "../backup/segment-shipper.ts";
import { settings } from "../config/settings.ts";
import type { LiveStreams } from "../events/live.ts";
import { listen } from "../http/listen.ts";
import type { DiskGrowth } from "../storage/disk-growth.ts";
import type { Store } from "../storage/store.ts";
import type { Metrics } from "./metrics.ts";

/** Starts measuring. The library is loaded only then. */
export async function openMetrics(deps: {
  store: Store;
  streams: LiveStreams;
  damage: { isFound: boolean };
  shipper: SegmentShipper | null;
  diskGrowth: DiskGrowth | null;
}): Promise<Metrics> {
  const { Metrics } = await import("./metrics.ts");
  return new Metrics(deps);
}

export async function metricsResponse(metrics: Metrics): Promise<Response> {
  return new Response(await metrics.text(), { headers: { "content-type": metrics.contentType } });
}

/** Serves `/metrics` on an address of its own, which should not be public: it asks for no token. */
export function serveMetrics(metrics: Metrics, { host, port }: { host: string; port: number }) {
  const { variable } = settings.metricsAddress;
  return listen({ host, port, hostSetting: variable, portSetting: variable }, () =>
    Bun.serve({
      hostname: host,
      port,
      routes: { "/metrics": { GET: () => metricsResponse(metrics) } },
      fetch: () => new Response("Metrics are at /metrics.\n", { status: 404 }),
    }),
  );
}
