import type { Kysely, Selectable } from "kysely";
import { limits } from "../core/limits.ts";
import { ProblemError, problem } from "../core/problems.ts";
import { isArray, JsonArray, parseJson } from "../http/json.ts";
import { nextTurn } from "../scheduling/turns.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { AppendCompanion, AppendResult } from "../storage/event-store.ts";
import type { EventSource } from "./accepted-event.ts";
import { type CheckedItem, type ItemOutcome, isOneCommit, timestampFull } from "./batch-parts.ts";
import { eventResponse, replayedHeaders } from "./event-response.ts";
import { beginKeyedBatch, finishKeyedBatch, forgetKeyedBatch, unfinished } from "./keyed-batches.ts";
import type { Recorder } from "./record.ts";
import { batchResponse, checkedChunks, isExternalProblem, rejectionsOf } from "./record-batch.ts";
import type { RejectedEvents } from "./rejected.ts";

type Deps = { control: Kysely<ControlTables>; recorder: Recorder; rejected: RejectedEvents };

/** A response as it is kept: an event's JSON, or the outcomes of an array before it was stored. */
type TemplateOutcome = string | Pick<ProblemError, "code" | "options">;

type IdempotencyRow = Selectable<ControlTables["idempotencyKeys"]>;

/** A request with its key. */
type Keyed = { key: string; bodyHash: string; bytes: Uint8Array; source: EventSource };

const printable = /^[\x20-\x7e]+$/;

/**
 * Handles requests with an `Idempotency-Key`
 * (https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header). However often one is sent, it is
 * recorded once and gets the same response. The key is committed together with the events.
 *
 * A large array takes several commits, between which others have theirs. Its key is committed first, with the ids that
 * its events get, and its response last. The same request continues it after a crash, or on another node at the same
 * time: the store keeps each id once.
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
      const request = { key, bodyHash, bytes, source };
      const response =
        (await this.#attempt(request)) ??
        // Another node has stored the key in the meantime.
        (await this.#attempt(request));
      if (response === null) throw new Error("Stored Idempotency-Key not found.");
      return response;
    } finally {
      this.#inProgress.delete(requestKey);
    }
  }

  /** Null if another node has stored the key since it was looked up. */
  async #attempt(request: Keyed): Promise<Response | null> {
    const row = await this.#rowOf(request);
    if (!row) return this.#record(request);
    return row.results === unfinished ? this.#continue(request, row) : this.#replay(row, request.source);
  }

  async #rowOf({ key, bodyHash, source }: Keyed): Promise<IdempotencyRow | undefined> {
    const row = await this.#deps.control
      .selectFrom("idempotencyKeys")
      .selectAll()
      .where("projectId", "=", source.projectId)
      .where("key", "=", key)
      .where("createdAt", ">=", Date.now() - limits.idempotencyMs)
      .executeTakeFirst();
    if (row && row.bodyHash !== bodyHash) {
      throw problem("idempotency-key-reused", {
        detail: "This Idempotency-Key was used with a different body. Use a new key for a new request.",
      });
    }
    return row;
  }

  async #replay(row: IdempotencyRow, source: EventSource): Promise<Response> {
    const results = JSON.parse(row.results) as AppendResult[];
    if (!row.responseTemplate.startsWith("[")) {
      const [result] = results;
      const isNew = result!.kind !== "duplicate";
      const json = isNew ? row.responseTemplate : result!.json;
      return eventResponse({ json, isNew }, source, replayedHeaders);
    }
    let next = 0;
    const outcomes = outcomesOf(row).map((outcome): ItemOutcome => {
      if (outcome instanceof ProblemError) return outcome;
      // Several commits left their results in the template.
      return results[next++]?.kind === "timestampFull" ? timestampFull() : outcome;
    });
    return batchResponse(outcomes, source, { headers: replayedHeaders });
  }

  /** Null if the key exists already. */
  async #record(request: Keyed): Promise<Response | null> {
    const { key, bodyHash, bytes, source } = request;
    const { recorder, rejected, control } = this.#deps;
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
    const items = await this.#check(array, source);
    if (isOneCommit(items)) {
      const outcomes = await recorder.recordAllWith(items, source, (outcomes) =>
        companionOf(templateOf(outcomes)),
      );
      if (outcomes === null) return null;
      await rejected.keep(rejectionsOf(outcomes, array), source);
      return batchResponse(outcomes, source);
    }
    const withIds = items.map((item) =>
      item instanceof ProblemError ? item : withId(item, item.event.id ?? recorder.newId()),
    );
    const template = templateOf(
      withIds.map((item) => (item instanceof ProblemError ? item : item.event.id!)),
    );
    const begin = () => beginKeyedBatch(control, { projectId: source.projectId, key }, bodyHash, template);
    return this.#recordParts(request, array, withIds, begin);
  }

  /** Records what is missing of an array whose ids are known. */
  async #continue(request: Keyed, row: IdempotencyRow): Promise<Response | null> {
    const { bytes, source } = request;
    const array = await JsonArray.read(bytes, source.projectId);
    // What was accepted then is accepted now.
    const items = await this.#check(array, { ...source, knownChannelsOnly: false });
    const withIds = outcomesOf(row).map((outcome, index): CheckedItem => {
      const item = items[index]!;
      if (outcome instanceof ProblemError || item instanceof ProblemError)
        return outcome instanceof ProblemError ? outcome : item;
      return withId(item, outcome);
    });
    return this.#recordParts(request, array, withIds, null);
  }

  async #check(array: JsonArray, source: EventSource): Promise<CheckedItem[]> {
    const items: CheckedItem[] = [];
    // Whoever sends the same again gets the same problems, whatever they may read.
    const anySender = { ...source, mayRead: false };
    for await (const chunk of checkedChunks(array, this.#deps.recorder, anySender)) {
      for (const item of chunk.items) items.push(item);
      await nextTurn(source.projectId);
    }
    return items;
  }

  /**
   * Null if the key exists already. Throws the problem of a part that could not be stored: the same request then
   * continues with it.
   */
  async #recordParts(
    { key, source }: Keyed,
    array: JsonArray,
    items: readonly CheckedItem[],
    begin: (() => Promise<boolean>) | null,
  ): Promise<Response | null> {
    const { recorder, rejected, control } = this.#deps;
    const outcomes = await recorder.recordAllOnce(items, source, begin);
    if (outcomes === null) return null;
    const failure = outcomes.find((outcome) => outcome instanceof ProblemError && isExternalProblem(outcome));
    if (failure) throw failure;
    const requestKey = { projectId: source.projectId, key };
    if (outcomes.some((outcome) => typeof outcome === "string"))
      await finishKeyedBatch(control, requestKey, templateOf(outcomes));
    else await forgetKeyedBatch(control, requestKey);
    await rejected.keep(rejectionsOf(outcomes, array), source);
    return batchResponse(outcomes, source);
  }
}

function withId(item: Exclude<CheckedItem, ProblemError>, id: string): CheckedItem {
  return { ...item, event: { ...item.event, id } };
}

function templateOf(outcomes: readonly ItemOutcome[]): string {
  return JSON.stringify(
    outcomes.map(
      (outcome): TemplateOutcome =>
        outcome instanceof ProblemError ? { code: outcome.code, options: outcome.options } : outcome,
    ),
  );
}

function outcomesOf({ responseTemplate }: IdempotencyRow): ItemOutcome[] {
  return (JSON.parse(responseTemplate) as TemplateOutcome[]).map((outcome) =>
    typeof outcome === "string" ? outcome : problem(outcome.code, outcome.options),
  );
}

function checkKey(key: string): void {
  if (key.length <= limits.idempotencyKeyCharacters && printable.test(key)) return;
  throw problem("idempotency-key-invalid", {
    detail: `An Idempotency-Key must have 1 to ${limits.idempotencyKeyCharacters} printable ASCII characters, such as a UUID.`,
  });
}
