import { createHash, timingSafeEqual } from "node:crypto";
import type { z } from "@hono/zod-openapi";
import { lastBackup } from "../backup/last-backup.ts";
import { lastVerification } from "../backup/last-verification.ts";
import { version } from "../config/config.ts";
import { problem } from "../core/problems.ts";
import { describeApi } from "../http/describe-api.ts";
import type { Routes } from "../http/routes.ts";
import { textResponse } from "../http/text-response.ts";
import {
  countAll,
  countFailingDestinations,
  countUnfinishedJobs,
  deliveriesByState,
} from "../metrics/database-counts.ts";
import { metricsResponse } from "../metrics/serve-metrics.ts";
import { ownsInstallation } from "../projects/installation-owner.ts";
import { Done } from "../schemas/done.ts";
import { ServerStatus } from "../schemas/server-status.ts";
import { freeBytes } from "../storage/disk.ts";
import type { Services } from "./services.ts";
import { programCommit } from "./version.ts";

export function addStatusRoutes(routes: Routes, services: Services): void {
  const { readiness, metrics, config } = services;
  routes.add(
    {
      method: "get",
      path: "/healthz",
      operationId: "checkHealth",
      by: "anyone",
      tag: "Status",
      summary: "Check that the server runs",
      response: Done,
    },
    async () => {},
  );

  routes.add(
    {
      method: "get",
      path: "/readyz",
      operationId: "checkReadiness",
      by: "anyone",
      tag: "Status",
      summary: "Check that the database can be read and written",
      description: "Responds within two seconds. 503 says why the server isn't ready.",
      response: Done,
      problems: [503],
    },
    async () => {
      await readiness.check();
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/status",
      operationId: "getStatus",
      by: "account",
      tag: "Status",
      summary: "Get the server's status",
      description: "For the owner of the installation: the oldest account. 403 for all others.",
      response: ServerStatus,
      problems: [403],
    },
    async ({ account }) => {
      if (!(await ownsInstallation(services.store.control, account.id)))
        throw problem("role-insufficient", {
          detail: "Only the owner of this installation can see the server's status.",
        });
      return serverStatus(services);
    },
  );

  routes.app.get("/metrics", async ({ req }, next) => {
    if (!metrics || config.metricsToken === null) return next();
    if (!isSame(req.header("authorization") ?? "", `Bearer ${config.metricsToken}`))
      throw problem("key-missing", { detail: "Send the token of TIDINGS_METRICS_TOKEN as a bearer token." });
    return metricsResponse(metrics);
  });

  // Generated on first use: it takes as long as recording a thousand events, and anyone can request it.
  let description: string | undefined;
  routes.app.get("/openapi.json", ({ req }) => {
    description ??= JSON.stringify(describeApi(routes.described));
    return textResponse(req.raw, description, { headers: { "content-type": "application/json" } });
  });
}

async function serverStatus({
  store,
  streams,
  commits,
  backups,
  shipper,
  diskGrowth,
}: Services): Promise<z.infer<typeof ServerStatus>> {
  const { control, events } = store;
  const [p50, p99] = [commits.quantile(0.5), commits.quantile(0.99)];
  const states = await deliveriesByState(control);
  const { dataDirectory } = store;
  const backup = await lastBackup(control);
  return {
    ok: true,
    version,
    commit: programCommit(),
    startedAt: new Date(Date.now() - process.uptime() * 1_000).toISOString(),
    memoryBytes: process.memoryUsage.rss(),
    database: {
      bytes: await store.bytes(),
      freeBytes: dataDirectory === null ? null : freeBytes(dataDirectory),
      daysUntilFull: (await diskGrowth?.daysUntilFull()) ?? null,
    },
    olderEvents: store.older && { engine: store.older.engine, ...(await store.older.status()) },
    recording: {
      storedInMinute: commits.storedInMinute(),
      commitMs: p50 === null || p99 === null ? null : { p50, p99 },
      waiting: events.waiting,
      streams: streams.count,
      rejected: await countAll(control, "rejectedEvents"),
    },
    notifying: {
      outbox: await countAll(control, "outbox"),
      deliveries: Object.fromEntries(states.map(({ state, count }) => [state, count])),
      failingDestinations: await countFailingDestinations(control),
    },
    unfinishedJobs: await countUnfinishedJobs(control),
    backup: {
      isScheduled: backups !== null,
      failure: backups?.failure ?? null,
      last: backup && { at: backup.at, file: backup.file, bytes: backup.bytes, events: backup.events },
      changes: shipper && {
        behindSeconds: shipper.behindSeconds(backup?.generation),
        failure: shipper.failure,
      },
      verified: await lastVerification(control),
    },
  };
}

/** Compares in constant time, so that the time of an answer tells nothing of the token. */
function isSame(text: string, expected: string): boolean {
  const [a, b] = [text, expected].map((each) => createHash("sha256").update(each).digest());
  return timingSafeEqual(a!, b!);
}
