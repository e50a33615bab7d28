import type { Kysely } from "kysely";
import type { Config } from "../config.ts";
import { limits } from "../limits.ts";
import { type Problem, type ProblemError, problem } from "../problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { EventAppender } from "../storage/store.ts";
import type { RejectedEventList } from "../wire/rejected-event.ts";
import type { EventSource } from "./record.ts";

type Deps = {
  events: EventAppender;
  control: Kysely<ControlTables>;
  config: Pick<Config, "rejectedEvents" | "rejectedDays">;
  onError: (error: unknown) => void;
};

/** A body as it was sent, or its beginning if it was too long to read, and the problem with it. */
export type Rejection = { body: string; problem: ProblemError };

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
          body: body.slice(0, limits.rejectedBodyCharacters).toWellFormed(),
          cut: body.length > limits.rejectedBodyCharacters,
          problem: JSON.stringify(problem.toProblem()),
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
    limit: number,
    before: number | undefined,
  ): Promise<Omit<RejectedEventList, "ok">> {
    const { config } = this.#deps;
    const rows = await this.#of(projectId)
      .leftJoin("keys", "keys.id", "rejectedEvents.keyId")
      .select(["keys.name", "keys.ending"])
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
        key: keyId === null ? null : { id: keyId, name: name ?? "", ending: ending ?? "" },
        rejectedAt: new Date(rejectedAt).toISOString(),
      })),
      nextCursor: rows.length > limit ? String(page.at(-1)!.id) : null,
      retentionDays: config.rejectedEvents === 0 ? 0 : config.rejectedDays,
    };
  }

  /** A rejected event's body, and whether it is truncated. Throws `rejected-event-unknown`. */
  async find(projectId: number, id: number): Promise<{ body: string; cut: boolean }> {
    const row = await this.#of(projectId).where("rejectedEvents.id", "=", id).executeTakeFirst();
    if (!row) throw unknown();
    return { body: row.body, cut: row.cut === 1 };
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

  #of(projectId: number) {
    const { control, config } = this.#deps;
    return control
      .selectFrom("rejectedEvents")
      .select([
        "rejectedEvents.id",
        "rejectedEvents.keyId",
        "rejectedEvents.body",
        "rejectedEvents.cut",
        "rejectedEvents.problem",
        "rejectedEvents.rejectedAt",
      ])
      .where("rejectedEvents.projectId", "=", projectId)
      .where("rejectedEvents.rejectedAt", ">=", Date.now() - config.rejectedDays * dayMs);
  }
}

function isContentProblem({ code }: ProblemError): boolean {
  return code === "body-invalid" || code === "body-malformed";
}

function unknown(): ProblemError {
  return problem("rejected-event-unknown", { detail: "This project has no rejected event with this ID." });
}
