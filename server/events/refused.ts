import type { Kysely } from "kysely";
import type { Config } from "../config.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { EventStore } from "../storage/store.ts";
import { limits } from "../wire/limits.ts";
import { type Problem, type ProblemError, problem } from "../wire/problems.ts";
import type { RefusedEvent } from "../wire/refused-event.ts";
import type { Sender } from "./record.ts";

type Rooms = {
  events: EventStore;
  control: Kysely<ControlTables>;
  config: Pick<Config, "refusedEvents" | "refusedDays">;
  onError: (error: unknown) => void;
};

/** A body as it was sent, or its beginning where it was too long to be read, and why it was refused. */
export type Refusal = { body: string; problem: ProblemError };

const dayMs = 24 * 60 * 60 * 1_000;

/** Events that were refused, kept so that their owner can mend them and replay them. */
export class RefusedEvents {
  readonly #rooms: Rooms;

  constructor(rooms: Rooms) {
    this.#rooms = rooms;
  }

  /** Keeps what was refused for its content; other problems are not the event's. Resolves once it is durable. */
  async keep(refusals: readonly Refusal[], sender: Sender): Promise<void> {
    const { events, config, onError } = this.#rooms;
    const kept = refusals
      .filter(({ problem }) => isOfContent(problem))
      .slice(-config.refusedEvents || Infinity);
    if (kept.length === 0 || config.refusedEvents === 0) return;
    const refusedAt = Date.now();
    try {
      await events.keepRefused(
        kept.map(({ body, problem }) => ({
          projectId: sender.projectId,
          keyId: sender.keyId ?? null,
          body: body.slice(0, limits.refusedBodyCharacters).toWellFormed(),
          cut: body.length > limits.refusedBodyCharacters,
          problem: JSON.stringify(problem.toProblem()),
          refusedAt,
        })),
        { events: config.refusedEvents, ms: config.refusedDays * dayMs },
      );
    } catch (error) {
      // The sender is to hear what is wrong with the event, whatever is wrong with the disk.
      onError(error);
    }
  }

  /** A project's refused events, newest first. */
  async list(
    projectId: number,
    limit: number,
    before: number | undefined,
  ): Promise<{ refused: RefusedEvent[]; nextCursor: string | null }> {
    const rows = await this.#of(projectId)
      .leftJoin("keys", "keys.id", "refusedEvents.keyId")
      .select(["keys.name", "keys.ending"])
      .$if(before !== undefined, (query) => query.where("refusedEvents.id", "<", before!))
      .orderBy("refusedEvents.id", "desc")
      .limit(limit + 1)
      .execute();
    const page = rows.slice(0, limit);
    return {
      refused: page.map(({ id, body, cut, problem, keyId, name, ending, refusedAt }) => ({
        id: String(id),
        body,
        cut: cut === 1,
        problem: JSON.parse(problem) as Problem,
        key: keyId === null ? null : { id: keyId, name: name ?? "", ending: ending ?? "" },
        refusedAt: new Date(refusedAt).toISOString(),
      })),
      nextCursor: rows.length > limit ? String(page.at(-1)!.id) : null,
    };
  }

  /** A refused event's body, and whether it was cut. Throws `refused-event-unknown`. */
  async find(projectId: number, id: number): Promise<{ body: string; cut: boolean }> {
    const row = await this.#of(projectId).where("refusedEvents.id", "=", id).executeTakeFirst();
    if (!row) throw unknown();
    return { body: row.body, cut: row.cut === 1 };
  }

  /** Throws `refused-event-unknown`. */
  async remove(projectId: number, id: number): Promise<void> {
    const { numDeletedRows } = await this.#rooms.control
      .deleteFrom("refusedEvents")
      .where("projectId", "=", projectId)
      .where("id", "=", id)
      .executeTakeFirst();
    if (numDeletedRows === 0n) throw unknown();
  }

  #of(projectId: number) {
    const { control, config } = this.#rooms;
    return control
      .selectFrom("refusedEvents")
      .select([
        "refusedEvents.id",
        "refusedEvents.keyId",
        "refusedEvents.body",
        "refusedEvents.cut",
        "refusedEvents.problem",
        "refusedEvents.refusedAt",
      ])
      .where("refusedEvents.projectId", "=", projectId)
      .where("refusedEvents.refusedAt", ">=", Date.now() - config.refusedDays * dayMs);
  }
}

function isOfContent({ code }: ProblemError): boolean {
  return code === "body-invalid" || code === "body-malformed";
}

function unknown(): ProblemError {
  return problem("refused-event-unknown", { detail: "This project has no refused event with this id." });
}
