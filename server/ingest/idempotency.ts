import type { Kysely } from "kysely";
import { isArray, parseJson } from "../http/body.ts";
import { JsonArray } from "../http/json-array.ts";
import { limits } from "../limits.ts";
import { ProblemError, problem } from "../problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { AppendCompanion, AppendResult } from "../storage/store.ts";
import { nextTurn } from "../turns.ts";
import { batchResponse, checkedChunks, rejectionsOf } from "./batch.ts";
import {
  type CheckedItem,
  type EventSource,
  type ItemOutcome,
  type Recorder,
  timestampFull,
} from "./record.ts";
import type { RejectedEvents } from "./rejected.ts";
import { eventResponse, replayedHeaders } from "./responses.ts";

type Rooms = { control: Kysely<ControlTables>; recorder: Recorder; rejected: RejectedEvents };

/** An answer as it is kept: an event's JSON, or the verdicts of an array, of which the store had not yet spoken. */
type DraftVerdict = string | Pick<ProblemError, "code" | "options">;

const printable = /^[\x20-\x7e]+$/;

/**
 * Requests that carry an `Idempotency-Key` (https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header): however
 * often one comes, it is done once, and gets the same answer. The key is committed together with the events.
 */
export class Idempotency {
  readonly #rooms: Rooms;
  /** What is being recorded now, as a project's number and the key. */
  readonly #underWay = new Set<string>();

  constructor(rooms: Rooms) {
    this.#rooms = rooms;
  }

  /**
   * Records a body once, and answers.
   *
   * It throws `idempotency-key-invalid`, `idempotency-key-reused`, `request-under-way`, and what recording throws.
   */
  async answer(key: string, bytes: Uint8Array, sender: EventSource): Promise<Response> {
    checkKey(key);
    const place = `${sender.projectId} ${key}`;
    if (this.#underWay.has(place)) {
      throw problem("request-under-way", {
        detail:
          "A request with this Idempotency-Key is in progress. Send it again in a second to get its response.",
        retryAfterSeconds: 1,
      });
    }
    this.#underWay.add(place);
    try {
      const bodyHash = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
      const answer =
        (await this.#replay(key, bodyHash, sender)) ??
        (await this.#record(key, bodyHash, bytes, sender)) ??
        // Another node has recorded it meanwhile.
        (await this.#replay(key, bodyHash, sender));
      if (answer === null) throw new Error("An Idempotency-Key was stored, and is not there.");
      return answer;
    } finally {
      this.#underWay.delete(place);
    }
  }

  async #replay(key: string, bodyHash: string, { projectId }: EventSource): Promise<Response | null> {
    const row = await this.#rooms.control
      .selectFrom("idempotencyKeys")
      .selectAll()
      .where("projectId", "=", projectId)
      .where("key", "=", key)
      .where("createdAt", ">=", Date.now() - limits.idempotencyMs)
      .executeTakeFirst();
    if (!row) return null;
    if (row.bodyHash !== bodyHash) {
      throw problem("idempotency-key-reused", {
        detail: "This Idempotency-Key was used with a different body. Use a new key for a new request.",
      });
    }
    const stored = JSON.parse(row.verdicts) as AppendResult[];
    if (!row.draft.startsWith("[")) {
      const [verdict] = stored;
      const isNew = verdict!.kind !== "duplicate";
      return eventResponse({ json: isNew ? row.draft : verdict!.json, isNew }, replayedHeaders);
    }
    let next = 0;
    const verdicts = (JSON.parse(row.draft) as DraftVerdict[]).map((verdict): ItemOutcome => {
      if (typeof verdict !== "string") return problem(verdict.code, verdict.options);
      return stored[next++]!.kind === "timestampFull" ? timestampFull() : verdict;
    });
    return batchResponse(verdicts, replayedHeaders);
  }

  /** Null where the key is there already. */
  async #record(
    key: string,
    bodyHash: string,
    bytes: Uint8Array,
    sender: EventSource,
  ): Promise<Response | null> {
    const { recorder, rejected } = this.#rooms;
    const tie = (draft: string): AppendCompanion => ({ kind: "idempotency", key, bodyHash, draft });
    if (!isArray(bytes)) {
      const recorded = await recorder.recordWith(parseJson(bytes), sender, tie);
      return recorded && eventResponse(recorded);
    }
    if (bytes.length > limits.keyedBatchBytes) {
      throw problem("body-too-large", {
        detail: `An array with an Idempotency-Key must have at most ${limits.keyedBatchBytes.toLocaleString("en")} bytes. Send several arrays, each with its own key.`,
      });
    }
    const array = await JsonArray.read(bytes);
    const items: CheckedItem[] = [];
    for await (const chunk of checkedChunks(array, recorder, sender)) {
      for (const item of chunk.items) items.push(item);
      await nextTurn();
    }
    // All at once: in one transaction with the key, however long the array is.
    const verdicts = await recorder.recordAllWith(items, sender, (drafted) =>
      tie(JSON.stringify(drafted.map(draftOf))),
    );
    if (verdicts === null) return null;
    await rejected.keep(rejectionsOf(verdicts, array), sender);
    return batchResponse(verdicts);
  }
}

function draftOf(verdict: ItemOutcome): DraftVerdict {
  return verdict instanceof ProblemError ? { code: verdict.code, options: verdict.options } : verdict;
}

function checkKey(key: string): void {
  if (key.length <= limits.idempotencyKeyCharacters && printable.test(key)) return;
  throw problem("idempotency-key-invalid", {
    detail: `An Idempotency-Key must have 1 to ${limits.idempotencyKeyCharacters} printable ASCII characters, such as a UUID.`,
  });
}
