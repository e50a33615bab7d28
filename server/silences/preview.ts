import type { Kysely } from "kysely";
import { alertOf } from "../alerts/alerts.ts";
import { limits } from "../core/limits.ts";
import { parseSearch, type Search } from "../event/search.ts";
import type { Alert } from "../schemas/alert.ts";
import type { SilenceDraft, SilencePreviewResponse } from "../schemas/silence.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { EventCounter } from "../storage/event-store.ts";
import { searchOfPeople } from "../storage/people.ts";
import { coverageOf } from "./coverage.ts";
import { type FindEvent, subjectOf } from "./silenced-alerts.ts";

type Deps = { control: Kysely<ControlTables>; events: Pick<EventCounter, "count">; findEvent: FindEvent };

const dayMs = 24 * 60 * 60 * 1_000;

/** Counts the events of the last 24 hours that a silence would have covered, and lists the open alerts. */
export async function previewSilence(
  { control, events, findEvent }: Deps,
  projectId: number,
  draft: SilenceDraft,
  nowMs: number,
): Promise<Omit<SilencePreviewResponse, "ok">> {
  const search = await searchOf(control, projectId, draft);
  const filter = search === null ? {} : { search };
  const bounds = [nowMs - dayMs, nowMs];
  const counts = await events.count({ projectId, filter, bounds, series: 0 });
  return {
    events: counts!.all[0]!,
    alerts: await coveredAlerts(control, findEvent, projectId, draft, nowMs),
  };
}

/** The search of the events that match both, the silence's search and one of its rules; null if all do. */
async function searchOf(
  control: Kysely<ControlTables>,
  projectId: number,
  { q, rules }: SilenceDraft,
): Promise<Search | null> {
  const own = parseSearch(q);
  if (rules.length === 0) return own;
  const rows = await control
    .selectFrom("rules")
    .select("q")
    .where("projectId", "=", projectId)
    .where("id", "in", rules)
    .execute();
  const searches = rows.map((rule) => parseSearch(rule.q));
  if (searches.includes(null)) return own;
  const any: Search = { kind: "any", of: searches.filter((each) => each !== null) };
  return own === null ? any : { kind: "all", of: [own, any] };
}

async function coveredAlerts(
  control: Kysely<ControlTables>,
  findEvent: FindEvent,
  projectId: number,
  draft: SilenceDraft,
  nowMs: number,
): Promise<Alert[]> {
  const covers = coverageOf({ ...draft, q: await searchOfPeople(control, projectId, draft.q) });
  const rows = await control
    .selectFrom("alerts")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("resolvedAt", "is", null)
    .orderBy("id", "desc")
    .limit(limits.rules)
    .execute();
  const alerts: Alert[] = [];
  for (const row of rows) if (await covers(subjectOf(row, findEvent))) alerts.push(alertOf(row, nowMs));
  return alerts;
}
