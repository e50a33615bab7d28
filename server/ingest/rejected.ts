import type { Kysely } from "kysely";
import { makeChange } from "../audit/changes.ts";
import { withoutSecretKeys } from "../auth/key-secret.ts";
import type { Config } from "../config/config.ts";
import { limits } from "../core/limits.ts";
import { type Problem, type ProblemError, problem, problemTypeOf } from "../core/problems.ts";
import type { Actor } from "../http/caller.ts";
import type {
  RejectedEvent,
  RejectedEventList,
  RejectedFilter,
  RejectedGroupList,
} from "../schemas/rejected-event.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { EventAppender } from "../storage/event-store.ts";
import type { EventSource } from "./accepted-event.ts";
import { rejectionReason } from "./rejection-reason.ts";

type Deps = {
  events: EventAppender;
  control: Kysely<ControlTables>;
  config: Pick<Config, "rejectedEvents" | "rejectedDays">;
  onError: (error: unknown) => void;
};

/** A body as it was sent, or its beginning if it was too long to read, and the problem with it. */
export type Rejection = { body: string; problem: ProblemError };

/** A rejected event to resend. `cut` says that the body is truncated. */
export type RejectedBody = { id: number; body: string; cut: boolean; rejectedAt: number };

const columns = [
  "rejectedEvents.id",
  "rejectedEvents.keyId",
  "rejectedEvents.body",
  "rejectedEvents.cut",
  "rejectedEvents.problem",
  "rejectedEvents.rejectedAt",
] as const;

/** Other events wait for the commit, and bodies are long. */
const discardedInOneCommit = 500;

const dayMs = 24 * 60 * 60 * 1_000;

/** Rejected events, kept so that they can be fixed and resent. */
export class RejectedEvents {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Keeps events that were rejected for their content. Resolves once they are durable. */
  async keep(rejections: readonly Rejection[], source: EventSource): Promise<void> {
    const { events, config, onError } = this.#deps;
    const kept = rejections
      .filter(({ problem }) => isContentProblem(problem))
      .slice(-config.rejectedEvents || Infinity);
    if (kept.length === 0 || config.rejectedEvents === 0) return;
    const rejectedAt = Date.now();
    try {
      await events.keepRejected(
        kept.map(({ body, problem }) => ({
          projectId: source.projectId,
          keyId: source.keyId ?? null,
          // Some clients send their key in the body, and those who read rejected events may not have its scopes.
          body: withoutSecretKeys(body.slice(0, limits.rejectedBodyCharacters).toWellFormed()),
          cut: body.length > limits.rejectedBodyCharacters,
          ...storedProblem(problem.toProblem()),
          rejectedAt,
        })),
        { events: config.rejectedEvents, ms: config.rejectedDays * dayMs },
      );
    } catch (error) {
      // The client must be told what is wrong with the event, even if the storage fails.
      onError(error);
    }
  }

  /** A project's rejected events, newest first. */
  async list(
    projectId: number,
    filter: RejectedFilter,
    limit: number,
    before: number | undefined,
  ): Promise<Omit<RejectedEventList, "ok">> {
    const rows = await this.#of(projectId, filter)
      .leftJoin("keys", "keys.id", "rejectedEvents.keyId")
      .select([...columns, "keys.name", "keys.ending"])
      .$if(before !== undefined, (query) => query.where("rejectedEvents.id", "<", before!))
      .orderBy("rejectedEvents.id", "desc")
      .limit(limit + 1)
      .execute();
    const page = rows.slice(0, limit);
    return {
      rejected: page.map(({ id, body, cut, problem, keyId, name, ending, rejectedAt }) => ({
        id: String(id),
        body,
        cut: cut === 1,
        problem: JSON.parse(problem) as Problem,
        key: keyOf(keyId, name, ending),
        rejectedAt: new Date(rejectedAt).toISOString(),
      })),
      nextCursor: rows.length > limit ? String(page.at(-1)!.id) : null,
      retentionDays: this.#retentionDays,
    };
  }

  /** A project's rejected events by reason and key, the largest groups first. */
  async groups(projectId: number, limit: number): Promise<Omit<RejectedGroupList, "ok">> {
    const groups = await this.#of(projectId)
      .leftJoin("keys", "keys.id", "rejectedEvents.keyId")
      .select((eb) => [
        "reason",
        "keyId",
        // The group has only one key.
        eb.fn.max("keys.name").as("name"),
        eb.fn.max("keys.ending").as("ending"),
        eb.fn.countAll<number>().as("count"),
        eb.fn.sum<number>("cut").as("cut"),
        eb.fn.max("rejectedEvents.id").as("newest"),
        eb.fn.min("rejectedAt").as("firstAt"),
        eb.fn.max("rejectedAt").as("lastAt"),
      ])
      .groupBy(["reason", "keyId"])
      .orderBy("count", "desc")
      .orderBy("newest", "desc")
      .limit(limit)
      .execute();
    const malformed = await this.#malformedOf(groups.map(({ newest }) => Number(newest)));
    return {
      groups: groups.map(({ reason, keyId, name, ending, count, cut, newest, firstAt, lastAt }) => ({
        reason,
        key: keyOf(keyId, name, ending),
        count: Number(count),
        fixable: malformed.has(Number(newest)) ? 0 : Number(count) - Number(cut),
        newest: String(newest),
        firstAt: new Date(Number(firstAt)).toISOString(),
        lastAt: new Date(Number(lastAt)).toISOString(),
      })),
      total: await this.count(projectId),
      retentionDays: this.#retentionDays,
    };
  }

  /** How many rejected events a project keeps. */
  async count(projectId: number): Promise<number> {
    const { total } = await this.#of(projectId)
      .select((eb) => eb.fn.countAll<number>().as("total"))
      .executeTakeFirstOrThrow();
    return Number(total);
  }

  /** Which of these rejected events are no JSON. What was rejected for the same reason is none either. */
  async #malformedOf(ids: readonly number[]): Promise<Set<number>> {
    if (ids.length === 0) return new Set();
    const rows = await this.#deps.control
      .selectFrom("rejectedEvents")
      .select(["id", "problem"])
      .where("id", "in", ids)
      .execute();
    const isMalformed = ({ problem }: { problem: string }) =>
      (JSON.parse(problem) as Problem).type === problemTypeOf("body-malformed");
    return new Set(rows.filter(isMalformed).map(({ id }) => id));
  }

  /** A rejected event's body, and whether it is truncated. Throws `rejected-event-unknown`. */
  async find(projectId: number, id: number): Promise<{ body: string; cut: boolean }> {
    const row = await this.#of(projectId)
      .select(columns)
      .where("rejectedEvents.id", "=", id)
      .executeTakeFirst();
    if (!row) throw unknown();
    return { body: row.body, cut: row.cut === 1 };
  }

  /** The bodies of rejected events after an id, oldest first. */
  async bodies(
    projectId: number,
    filter: RejectedFilter,
    after: number,
    limit: number,
  ): Promise<RejectedBody[]> {
    const rows = await this.#of(projectId, filter)
      .select(columns)
      .where("rejectedEvents.id", ">", after)
      .orderBy("rejectedEvents.id")
      .limit(limit)
      .execute();
    return rows.map(({ id, body, cut, rejectedAt }) => ({ id, body, cut: cut === 1, rejectedAt }));
  }

  /** Discards those of a filter that there are now. Returns their number. */
  async discard(projectId: number, filter: RejectedFilter, actor: Actor): Promise<number> {
    const { control } = this.#deps;
    const rows = await this.#of(projectId, filter).select("rejectedEvents.id").execute();
    let discarded = 0;
    for (let start = 0; start < rows.length; start += discardedInOneCommit) {
      const ids = rows.slice(start, start + discardedInOneCommit).map(({ id }) => id);
      discarded += await makeChange(control, { projectId, actor }, async ({ transaction, record }) => {
        const { numDeletedRows } = await transaction
          .deleteFrom("rejectedEvents")
          .where("projectId", "=", projectId)
          .where("id", "in", ids)
          .executeTakeFirst();
        const count = Number(numDeletedRows);
        if (count > 0) await record({ action: "rejected.discarded", detail: { count } });
        return count;
      });
    }
    return discarded;
  }

  /** Throws `rejected-event-unknown`. */
  async remove(projectId: number, id: number): Promise<void> {
    const { numDeletedRows } = await this.#deps.control
      .deleteFrom("rejectedEvents")
      .where("projectId", "=", projectId)
      .where("id", "=", id)
      .executeTakeFirst();
    if (numDeletedRows === 0n) throw unknown();
  }

  get #retentionDays(): number {
    const { rejectedEvents, rejectedDays } = this.#deps.config;
    return rejectedEvents === 0 ? 0 : rejectedDays;
  }

  #of(projectId: number, { reason, key, upTo }: RejectedFilter = {}) {
    const { control, config } = this.#deps;
    return control
      .selectFrom("rejectedEvents")
      .where("rejectedEvents.projectId", "=", projectId)
      .where("rejectedEvents.rejectedAt", ">=", Date.now() - config.rejectedDays * dayMs)
      .$if(reason !== undefined, (query) => query.where("rejectedEvents.reason", "=", reason!))
      .$if(key === "none", (query) => query.where("rejectedEvents.keyId", "is", null))
      .$if(key !== undefined && key !== "none", (query) => query.where("rejectedEvents.keyId", "=", key!))
      .$if(upTo !== undefined, (query) => query.where("rejectedEvents.id", "<=", Number(upTo)));
  }
}

function storedProblem(problem: Problem): { problem: string; reason: string } {
  return { problem: withoutSecretKeys(JSON.stringify(problem)), reason: rejectionReason(problem) };
}

function keyOf(id: string | null, name: string | null, ending: string | null): RejectedEvent["key"] {
  return id === null ? null : { id, name: name ?? "", ending: ending ?? "" };
}

export function isContentProblem({ code }: ProblemError): boolean {
  return code === "body-invalid" || code === "body-malformed";
}

function unknown(): ProblemError {
  return problem("rejected-event-unknown", { detail: "This project has no rejected event with this ID." });
}
