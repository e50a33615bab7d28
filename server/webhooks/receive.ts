import { hashOf } from "../auth/key-secret.ts";
import { limits } from "../core/limits.ts";
import { ProblemError, problem } from "../core/problems.ts";
import { readBytes, readForeignBytes } from "../http/body.ts";
import { BodyPermit, type BodySemaphore } from "../http/body-semaphore.ts";
import { clientNetwork } from "../http/client-address.ts";
import type { FailureLog } from "../http/failures.ts";
import { rejectedText } from "../http/json.ts";
import type { EventSource } from "../ingest/accepted-event.ts";
import type { Recorder } from "../ingest/record.ts";
import type { RejectedEvents } from "../ingest/rejected.ts";
import type { RateLimiter } from "../storage/rate-limiter.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import type { Store } from "../storage/store.ts";
import { takePoint } from "../storage/take-point.ts";
import type { MappingInput } from "./expression.ts";
import { keepRequest, type Outcome, wasRejected } from "./kept-requests.ts";
import { eventIdOfRequest, mapRequest } from "./map-request.ts";
import { recordRequestItems } from "./record-items.ts";
import { checkEncoding, mappingHeaders } from "./request-body.ts";
import { signatureFault } from "./signatures.ts";
import { parseBodyOf, sourceOf } from "./sources.ts";
import { openSecret, type WebhookRow } from "./webhooks.ts";

type Deps = {
  store: Store;
  secrets: SecretBox;
  recorder: Recorder;
  rejected: RejectedEvents;
  largeBodies: BodySemaphore;
  failures: FailureLog;
  addressOf: (request: Request) => string | null;
  setRequestTimeout: (request: Request, seconds: number) => void;
};

/** The response to a sender. */
export type Received = { outcome: "recorded" | "duplicate" | "ignored"; id?: string };

/** Makes events of what other services send. */
export class WebhookReceiver {
  readonly #deps: Deps;
  readonly #requests: RateLimiter;
  readonly #misses: RateLimiter;

  constructor(deps: Deps) {
    this.#deps = deps;
    const limiter = (name: string, points: number) => deps.store.rateLimiter({ name, points, seconds: 60 });
    this.#requests = limiter("webhooks", limits.webhookRequestsPerMinute);
    this.#misses = limiter("webhook-misses", limits.webhookMissesPerMinute);
  }

  /**
   * Records the event of a request. A request that can't become one is kept.
   *
   * Throws `webhook-unknown`, `webhook-signature-invalid`, `too-many-requests`, what reading a body throws, and what
   * recording an event throws.
   */
  async receive(token: string, request: Request): Promise<Received> {
    const { webhook, source } = await this.#find(token, request);
    await takePoint(this.#requests, webhook.id);
    const permit = new BodyPermit(this.#deps.largeBodies, source.projectId);
    try {
      const isBatch = sourceOf(webhook.source).batch !== undefined;
      const bytes = await (isBatch ? this.#readBatch(request, permit) : readOne(request, permit));
      const signed = await this.#verify(webhook, request, bytes);
      const body = await parsed(webhook, bytes, request.headers.get("content-type"));
      if (body instanceof ProblemError) throw await this.#reject(webhook, source, bytes, signed, body);
      const input = { body, headers: signed.headers };
      return await (isBatch
        ? this.#recordItems(webhook, source, input, bytes.length)
        : this.#record(webhook, source, input));
    } finally {
      permit.release();
    }
  }

  /** Log drains send megabytes, also compressed. */
  #readBatch(request: Request, permit: BodyPermit): Promise<Uint8Array> {
    const extendTimeout = (seconds: number) => this.#deps.setRequestTimeout(request, seconds);
    return readForeignBytes(request, permit, extendTimeout, async () => {});
  }

  /** The hash is looked up, not the token, so the time tells nothing of how much of a token is right. */
  async #find(token: string, request: Request): Promise<{ webhook: WebhookRow; source: EventSource }> {
    const row = await this.#deps.store.control
      .selectFrom("webhooks")
      .innerJoin("projects", "projects.id", "webhooks.projectId")
      .selectAll("webhooks")
      .select(["projects.knownChannelsOnly", "projects.eventsPerDay"])
      .where("webhooks.tokenHash", "=", hashOf(token))
      .where("projects.deletedAt", "is", null)
      .executeTakeFirst();
    if (!row) {
      await takePoint(this.#misses, clientNetwork(this.#deps.addressOf(request)));
      throw problem("webhook-unknown", {
        detail: "There is no webhook at this address. It may have been deleted, or its address replaced.",
      });
    }
    const { knownChannelsOnly, eventsPerDay, ...webhook } = row;
    return {
      webhook,
      source: {
        projectId: row.projectId,
        knownChannelsOnly: knownChannelsOnly === 1,
        eventsPerDay,
        mayRead: false,
      },
    };
  }

  /** Returns what is known of the request so far. Its body is not looked at before the signature is. */
  async #verify(webhook: WebhookRow, request: Request, bytes: Uint8Array): Promise<MappingInput> {
    const nowMs = Date.now();
    const fault = signatureFault(
      webhook.source,
      openSecret(webhook, this.#deps.secrets),
      webhook.signatureHeader,
      {
        headers: Object.fromEntries(request.headers),
        bytes,
        nowMs,
      },
    );
    if (fault === null) return { body: null, headers: mappingHeaders(request.headers) };
    const refusal = problem("webhook-signature-invalid", { detail: fault });
    // With one id for all of them, only the newest is kept: otherwise whoever has the address could push out the
    // requests that the sender signed.
    await this.#keep(webhook, null, {
      outcome: "rejected",
      eventId: webhook.id,
      problem: refusal,
    });
    throw refusal;
  }

  async #record(webhook: WebhookRow, source: EventSource, input: MappingInput): Promise<Received> {
    const mapped = mapRequest(webhook, input);
    const eventId = typeof mapped?.id === "string" ? mapped.id : eventIdOfRequest(webhook, input);
    if (!mapped) {
      await this.#keep(webhook, input, { outcome: "ignored", eventId });
      return { outcome: "ignored" };
    }
    const event = { ...mapped, id: eventId };
    try {
      const { isNew } = await this.#deps.recorder.record(event, source);
      const outcome = isNew ? "recorded" : "duplicate";
      await this.#keep(webhook, input, { outcome, eventId });
      return { outcome, id: eventId };
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code !== "body-invalid") throw error;
      const text = Buffer.from(JSON.stringify(event));
      await this.#reject(
        webhook,
        source,
        text,
        input,
        ofMapping(error, `The webhook "${webhook.name}"`),
        eventId,
      );
      // The sender has the webhook's address, and need not know what its owner calls it.
      throw ofMapping(error, "The webhook");
    }
  }

  /** Records the events of a request that has many. Only if all are rejected, the sender is told, and tries again. */
  async #recordItems(
    webhook: WebhookRow,
    source: EventSource,
    input: MappingInput,
    bytes: number,
  ): Promise<Received> {
    const { recorder, rejected: rejectedEvents, store } = this.#deps;
    let result: Awaited<ReturnType<typeof recordRequestItems>>;
    try {
      result = await recordRequestItems(recorder, webhook, input, source);
    } catch (error) {
      if (!(error instanceof ProblemError) || error.code !== "body-invalid") throw error;
      const text = Buffer.from(JSON.stringify(input.body));
      throw await this.#reject(webhook, source, text, input, error);
    }
    const { outcome, eventId, settledId, problem: found, rejected, storedId } = result;
    if (rejected.length > 0 && !(await wasRejected(store.control, webhook.id, eventId))) {
      const named = rejected.map(({ body, problem }) => ({
        body,
        problem: ofMapping(problem, `The webhook "${webhook.name}"`),
      }));
      await rejectedEvents.keep(named, source);
    }
    // Writing megabytes as JSON takes long, only to find that they are too many to keep. A character has up to 4 bytes.
    const isTooLong = bytes > 4 * limits.webhookRequestCharacters;
    const kept = isTooLong ? { ...input, body: undefined } : input;
    await this.#keep(webhook, kept, {
      outcome,
      eventId,
      ...(settledId && { settledId }),
      ...(found && { problem: found }),
    });
    if (storedId !== null) return { outcome: outcome === "duplicate" ? outcome : "recorded", id: storedId };
    if (found) throw ofMapping(found, "The webhook");
    return { outcome: "ignored" };
  }

  /** Keeps what was rejected: once, however often its sender tries. Returns the problem. */
  async #reject(
    webhook: WebhookRow,
    source: EventSource,
    bytes: Uint8Array,
    input: MappingInput,
    found: ProblemError,
    eventId = eventIdOfRequest(webhook, input),
  ): Promise<ProblemError> {
    const text = rejectedText(bytes);
    const isRepeated = await wasRejected(this.#deps.store.control, webhook.id, eventId);
    if (!isRepeated) await this.#deps.rejected.keep([{ body: text, problem: found }], source);
    const body = input.body ?? text;
    await this.#keep(webhook, { ...input, body }, { outcome: "rejected", eventId, problem: found });
    return found;
  }

  /** The event is stored already, or its sender is told, so a failure here must not change the response. */
  async #keep({ id }: WebhookRow, input: MappingInput | null, outcome: Outcome): Promise<void> {
    const { store, failures } = this.#deps;
    try {
      await keepRequest(store, id, input, outcome, Date.now());
    } catch (error) {
      failures.taskFailed(error);
    }
  }
}

/** Throws `content-type-unsupported`, and what reading a body throws. */
async function readOne(request: Request, permit: BodyPermit): Promise<Uint8Array> {
  checkEncoding(request.headers);
  const length = Number(request.headers.get("content-length") ?? limits.webhookBytes);
  // A larger body is refused without being read.
  await permit.acquire(Math.min(length, limits.webhookBytes));
  return readBytes(request, limits.webhookBytes);
}

async function parsed(
  { source, projectId }: WebhookRow,
  bytes: Uint8Array,
  type: string | null,
): Promise<unknown> {
  try {
    return await parseBodyOf(source, bytes, type, projectId);
  } catch (error) {
    if (error instanceof ProblemError) return error;
    throw error;
  }
}

/** Says that the event was made by a mapping, which is where to fix it. */
function ofMapping({ options }: ProblemError, webhook: string): ProblemError {
  return problem("body-invalid", {
    ...options,
    detail: `${webhook} made an event that is not valid. ${options.detail}`,
  });
}
