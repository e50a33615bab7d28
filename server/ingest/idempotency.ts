import type { Kysely } from "kysely";
import { isArray, JsonArray, parseJson } from "../http/json.ts";
import { limits } from "../limits.ts";
import { ProblemError, problem } from "../problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { AppendCompanion, AppendResult } from "../storage/event-store.ts";
import { nextTurn } from "../turns.ts";
import { batchResponse, checkedChunks, rejectionsOf } from "./batch.ts";
import {
  type CheckedItem,
  type EventSource,
  eventResponse,
  type ItemOutcome,
  type Recorder,
  replayedHeaders,
  timestampFull,
} from "./record.ts";
import type { RejectedEvents } from "./rejected.ts";

type Deps = { control: Kysely<ControlTables>; recorder: Recorder; rejected: RejectedEvents };

/** A response as it is kept: an event's JSON, or the outcomes of an array before it was stored. */
type TemplateOutcome = string | Pick<ProblemError, "code" | "options">;

const printable = /^[\x20-\x7e]+$/;

/**
 * Handles requests with an `Idempotency-Key`
 * (https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header). However often one is sent, it is
 * recorded once and gets the same response. The key is committed together with the events.
 */
export class Idempotency {
  readonly #deps: Deps;
  /** Requests in progress, as project number and key. */
  readonly #inProgress = new Set<string>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Records a body once and returns its response.
   *
   * Throws `idempotency-key-invalid`, `idempotency-key-reused`, `request-under-way`, and what recording throws.
   */
  async handle(key: string, bytes: Uint8Array, source: EventSource): Promise<Response> {
    checkKey(key);
    const requestKey = `${source.projectId} ${key}`;
    if (this.#inProgress.has(requestKey)) {
      throw problem("request-under-way", {
        detail:
          "A request with this Idempotency-Key is in progress. Send it again in a second to get its response.",
        retryAfterSeconds: 1,
      });
    }
    this.#inProgress.add(requestKey);
    try {
      const bodyHash = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
      const response =
        (await this.#replay(key, bodyHash, source)) ??
        (await this.#record(key, bodyHash, bytes, source)) ??
        // Another node has recorded it in the meantime.
        (await this.#replay(key, bodyHash, source));
      if (response === null) throw new Error("An Idempotency-Key was stored, and is not there.");
      return response;
    } finally {
      this.#inProgress.delete(requestKey);
    }
  }

  async #replay(key: string, bodyHash: string, source: EventSource): Promise<Response | null> {
    const row = await this.#deps.control
      .selectFrom("idempotencyKeys")
      .selectAll()
      .where("projectId", "=", source.projectId)
      .where("key", "=", key)
      .where("createdAt", ">=", Date.now() - limits.idempotencyMs)
      .executeTakeFirst();
    if (!row) return null;
    if (row.bodyHash !== bodyHash) {
      throw problem("idempotency-key-reused", {
        detail: "This Idempotency-Key was used with a different body. Use a new key for a new request.",
      });
    }
    const results = JSON.parse(row.results) as AppendResult[];
    if (!row.responseTemplate.startsWith("[")) {
      const [result] = results;
      const isNew = result!.kind !== "duplicate";
      const json = isNew ? row.responseTemplate : result!.json;
      return eventResponse({ json, isNew }, source, replayedHeaders);
    }
    let next = 0;
    const outcomes = (JSON.parse(row.responseTemplate) as TemplateOutcome[]).map((outcome): ItemOutcome => {
      if (typeof outcome !== "string") return problem(outcome.code, outcome.options);
      return results[next++]!.kind === "timestampFull" ? timestampFull() : outcome;
    });
    return batchResponse(outcomes, source, replayedHeaders);
  }

  /** Null if the key exists already. */
  async #record(
    key: string,
    bodyHash: string,
    bytes: Uint8Array,
    source: EventSource,
  ): Promise<Response | null> {
    const { recorder, rejected } = this.#deps;
    const companionOf = (responseTemplate: string): AppendCompanion => ({
      kind: "idempotency",
      key,
      bodyHash,
      responseTemplate,
    });
    if (!isArray(bytes)) {
      const recorded = await recorder.recordWith(parseJson(bytes), source, companionOf);
      return recorded && eventResponse(recorded, source);
    }
    if (bytes.length > limits.keyedBatchBytes) {
      throw problem("body-too-large", {
        detail: `An array with an Idempotency-Key must have at most ${limits.keyedBatchBytes.toLocaleString("en")} bytes. Send several arrays, each with its own key.`,
      });
    }
    const array = await JsonArray.read(bytes, source.projectId);
    const items: CheckedItem[] = [];
    // Whoever sends the same again gets the same problems, whatever they may read.
    const anySender = { ...source, mayRead: false };
    for await (const chunk of checkedChunks(array, recorder, anySender)) {
      for (const item of chunk.items) items.push(item);
      await nextTurn(source.projectId);
    }
    // All in one transaction with the key, however long the array is.
    const outcomes = await recorder.recordAllWith(items, source, (outcomes) =>
      companionOf(JSON.stringify(outcomes.map(templateOf))),
    );
    if (outcomes === null) return null;
    await rejected.keep(rejectionsOf(outcomes, array), source);
    return batchResponse(outcomes, source);
  }
}

function templateOf(outcome: ItemOutcome): TemplateOutcome {
  return outcome instanceof ProblemError ? { code: outcome.code, options: outcome.options } : outcome;
}

function checkKey(key: string): void {
  if (key.length <= limits.idempotencyKeyCharacters && printable.test(key)) return;
  throw problem("idempotency-key-invalid", {
    detail: `An Idempotency-Key must have 1 to ${limits.idempotencyKeyCharacters} printable ASCII characters, such as a UUID.`,
  });
}
