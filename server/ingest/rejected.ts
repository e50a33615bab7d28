import type { Kysely } from "kysely";
import type { Config } from "../config.ts";
import { limits } from "../limits.ts";
import { type Problem, type ProblemError, problem } from "../problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { EventAppender } from "../storage/store.ts";
import type { RejectedEventList } from "../wire/rejected-event.ts";
import type { EventSource } from "./record.ts";

type Rooms = {
  events: EventAppender;
  control: Kysely<ControlTables>;
  config: Pick<Config, "rejectedEvents" | "rejectedDays">;
  onError: (error: unknown) => void;
};

/** A body as it was sent, or its beginning where it was too long to be read, and why it was rejected. */
export type Rejection = { body: string; problem: ProblemError };

const dayMs = 24 * 60 * 60 * 1_000;

/** Events that were rejected, kept so that their owner can mend them and replay them. */
export class RejectedEvents {
  readonly #rooms: Rooms;

  constructor(rooms: Rooms) {
    this.#rooms = rooms;
  }

  /** Keeps what was rejected for its content; other problems are not the event's. Resolves once it is durable. */
  async keep(rejections: readonly Rejection[], sender: EventSource): Promise<void> {
    const { events, config, onError } = this.#rooms;
    const kept = rejections
      .filter(({ problem }) => isOfContent(problem))
      .slice(-config.rejectedEvents || Infinity);
    if (kept.length === 0 || config.rejectedEvents === 0) return;
    const rejectedAt = Date.now();
    try {
      await events.keepRejected(
        kept.map(({ body, problem }) => ({
          projectId: sender.projectId,
          keyId: sender.keyId ?? null,
          body: body.slice(0, limits.rejectedBodyCharacters).toWellFormed(),
          cut: body.length > limits.rejectedBodyCharacters,
          problem: JSON.stringify(problem.toProblem()),
          rejectedAt,
        })),
        { events: config.rejectedEvents, ms: config.rejectedDays * dayMs },
      );
    } catch (error) {
      // The sender is to hear what is wrong with the event, whatever is wrong with the disk.
      onError(error);
    }
  }

  /** A project's rejected events, newest first. */
  async list(
    projectId: number,
    limit: number,
    before: number | undefined,
  ): Promise<Omit<RejectedEventList, "ok">> {
    const { config } = this.#rooms;
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

  /** A rejected event's body, and whether it was cut. Throws `rejected-event-unknown`. */
  async find(projectId: number, id: number): Promise<{ body: string; cut: boolean }> {
    const row = await this.#of(projectId).where("rejectedEvents.id", "=", id).executeTakeFirst();
    if (!row) throw unknown();
    return { body: row.body, cut: row.cut === 1 };
  }

  /** Throws `rejected-event-unknown`. */
  async remove(projectId: number, id: number): Promise<void> {
    const { numDeletedRows } = await this.#rooms.control
      .deleteFrom("rejectedEvents")
      .where("projectId", "=", projectId)
      .where("id", "=", id)
      .executeTakeFirst();
    if (numDeletedRows === 0n) throw unknown();
  }

  #of(projectId: number) {
    const { control, config } = this.#rooms;
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

function isOfContent({ code }: ProblemError): boolean {
  return code === "body-invalid" || code === "body-malformed";
}

function unknown(): ProblemError {
  return problem("rejected-event-unknown", { detail: "This project has no rejected event with this ID." });
}
