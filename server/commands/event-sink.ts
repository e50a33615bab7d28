import { TidingsError } from "../../client/src/errors.ts";
import { type PreparedEvent, sendMany } from "../../client/src/track-many.ts";
import { limits } from "../core/limits.ts";
import { ProblemError } from "../core/problems.ts";
import type { ItemJoining } from "../drop-in/item.ts";
import { checkEvent } from "../event/check-event.ts";
import { saveGroups } from "../groups/save-groups.ts";
import type { EventSource } from "../ingest/accepted-event.ts";
import type { Recorder } from "../ingest/record.ts";
import { joinAll } from "../people/join-ids.ts";
import type { GroupChange } from "../schemas/group-rule.ts";
import type { Store } from "../storage/store.ts";
import { mergeProperties } from "../users/merge-properties.ts";
import type { UserChange } from "../users/user-change.ts";
import { UsageError } from "./with-store.ts";

/** Where an import puts what it finds. Its events notify nobody. Throws a UsageError if nothing can be stored. */
export type EventSink = {
  /** Records events, which need an ID. Returns for each why it is rejected, or null, and how many were there before. */
  record(events: Record<string, unknown>[]): Promise<{ details: (string | null)[]; duplicates: number }>;
  /** Merges properties of users, in order. */
  mergeUsers(changes: UserChange[]): Promise<void>;
  /** Joins IDs that are one person's, in order. Returns why some were refused; a server keeps these with the reason. */
  joinIds(joinings: ItemJoining[]): Promise<string[]>;
  /** Saves groups, in order. Returns why some were refused. */
  saveGroups(groups: GroupChange[]): Promise<string[]>;
};

const retries = 4;
/** Groups that are saved at the same time. */
const requestsAtOnce = 8;
const timeoutMs = 60_000;

/** The recorder of this process: no HTTP, and each event is parsed once. */
export function localSink(recorder: Recorder, store: Store, project: EventSource): EventSink {
  const source = { ...project, isSilent: true };
  let checking: Promise<unknown> = Promise.resolve();
  return {
    async record(events) {
      // One batch is checked while those before it are stored.
      const checked = checking.then(() => recorder.checkAll(events, source));
      checking = checked.catch(() => {});
      let duplicates = 0;
      const outcomes = await recorder.recordAll(await checked, source, (events) => {
        duplicates += events;
      });
      const details = outcomes.map((outcome) => {
        if (!(outcome instanceof ProblemError)) return null;
        if (outcome.status !== 422) throw outcome;
        return outcome.options.detail;
      });
      return { details, duplicates };
    },
    mergeUsers: (changes) => mergeProperties(store, source.projectId, changes),
    async joinIds(joinings) {
      const results = await joinAll(
        store,
        source.projectId,
        joinings.map(({ id, userId, by }) => ({
          ...{ id, userId, name: null, identifies: by !== "alias" },
          by: "import",
        })),
      );
      return results.flatMap((result, index) =>
        result instanceof ProblemError && joinings[index]!.by !== "event" ? result.options.detail : [],
      );
    },
    async saveGroups(groups) {
      const results = await saveGroups(store, source.projectId, groups, { mayCreate: true });
      return results.flatMap((result) => result?.options.detail ?? []);
    },
  };
}

/** Why the server refused something. Throws every other error. */
function refusalOf(error: unknown): string[] {
  const { status } = error as { status?: number };
  if (error instanceof UsageError && (status === 409 || status === 422)) return [error.message];
  throw error;
}

type Server = {
  url: string;
  apiKey: string;
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  request: (path: string, init: RequestInit) => Promise<Response>;
};

/** The API of a server. */
export function httpSink({ url, apiKey, fetch, request }: Server): EventSink {
  const init = { method: "POST", headers: { "content-type": "application/json", "x-api-key": apiKey } };
  return {
    async record(events) {
      const nowMs = Date.now();
      // Checked here too: the server keeps what it rejects, for somebody to fix.
      const details = events.map((event) => {
        const checked = checkEvent(event, nowMs);
        return Array.isArray(checked) ? checked[0]!.detail : null;
      });
      const sent: { prepared: PreparedEvent; index: number }[] = [];
      for (const [index, event] of events.entries())
        if (details[index] === null)
          sent.push({ prepared: { id: event.id as string, json: JSON.stringify(event) }, index });
      let duplicates = 0;
      const results = await sendMany(
        `${url}/api/events?silent=true`,
        init,
        sent.map(({ prepared }) => prepared),
        { fetch, retries, timeoutMs, signals: [] },
        (events) => {
          duplicates += events;
        },
      );
      for (const [at, result] of results.entries()) {
        if (result.ok) continue;
        const { error } = result;
        if (!(error instanceof TidingsError && error.status === 422)) throw new UsageError(error.message);
        details[sent[at]!.index] = error.message;
      }
      return { details, duplicates };
    },
    async mergeUsers(changes) {
      // The endpoint for PostHog's clients merges the properties of many users at once.
      for (let start = 0; start < changes.length; start += limits.mergedUsers) {
        const batch = changes
          .slice(start, start + limits.mergedUsers)
          .map(({ userId, set = {}, setOnce = {}, identifies }) => ({
            event: identifies ? "$identify" : "$set",
            distinct_id: userId,
            $set: set,
            $set_once: setOnce,
          }));
        await request("/batch/", { method: "POST", body: JSON.stringify({ batch }) });
      }
    },
    async joinIds(joinings) {
      for (let start = 0; start < joinings.length; start += limits.mergedUsers) {
        const batch = joinings
          .slice(start, start + limits.mergedUsers)
          .map(({ id, userId, by }) =>
            by === "alias"
              ? { event: "$create_alias", distinct_id: userId, properties: { alias: id } }
              : { event: "$identify", distinct_id: userId, properties: { $anon_distinct_id: id } },
          );
        await request("/batch/", { method: "POST", body: JSON.stringify({ batch }) });
      }
      return [];
    },
    async saveGroups(groups) {
      const refused: string[] = [];
      for (let start = 0; start < groups.length; start += requestsAtOnce) {
        const reasons = await Promise.all(
          groups.slice(start, start + requestsAtOnce).map(({ type, id, set, userId }) => {
            const body = { type, id, ...(set && { properties: set }), ...(userId && { userId }) };
            const init = { method: "POST", body: JSON.stringify(body) };
            return request("/api/groups", init).then(() => [], refusalOf);
          }),
        );
        refused.push(...reasons.flat());
      }
      return refused;
    },
  };
}
