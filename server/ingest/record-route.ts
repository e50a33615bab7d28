import type { Server } from "bun";
import { type ApiKeyCache, secretOf } from "../auth/api-key-cache.ts";
import { type Authorizer, checkKey } from "../auth/authorizer.ts";
import { checkUrl } from "../auth/key-secret.ts";
import { limits } from "../core/limits.ts";
import { ProblemError, problem } from "../core/problems.ts";
import { RecordQuery, readQuery } from "../event/event-query.ts";
import { isNdjson, readEventBytes } from "../http/body.ts";
import { BodyPermit, type BodySemaphore } from "../http/body-semaphore.ts";
import type { KeyAccess } from "../http/caller.ts";
import { errorResponse, type FailureLog } from "../http/failures.ts";
import { isArray, JsonArray, parseJson, rejectedText } from "../http/json.ts";
import type { Store } from "../storage/store.ts";
import type { EventSource } from "./accepted-event.ts";
import { eventResponse } from "./event-response.ts";
import { Idempotency } from "./idempotency.ts";
import { checkKeyOrigin, type KeyRateLimits, type RequestRateLimit } from "./key-limits.ts";
import { recordLines } from "./ndjson.ts";
import type { Recorder } from "./record.ts";
import { batchResponse, recordBatch } from "./record-batch.ts";
import type { RejectedEvents } from "./rejected.ts";

type Deps = {
  authorizer: Authorizer;
  keys: ApiKeyCache;
  recorder: Recorder;
  rejected: RejectedEvents;
  store: Store;
  failures: FailureLog;
  largeBodies: BodySemaphore;
  rateLimits: KeyRateLimits;
  baseUrl: string;
};

type Incoming = {
  request: Request;
  server: Pick<Server<undefined>, "timeout">;
  source: EventSource;
  rateLimit: RequestRateLimit | null;
};

/** Handles `POST /api/events`. It is one of `Bun.serve`'s own routes, so events bypass the router. */
export function recordRoute(deps: Deps) {
  const { authorizer, keys, recorder, rejected, store, failures, largeBodies, rateLimits, baseUrl } = deps;
  const idempotency = new Idempotency({ control: store.control, recorder, rejected });

  return async (request: Request, server: Pick<Server<undefined>, "timeout">): Promise<Response> => {
    if (request.headers.get("x-api-key") !== null && !request.url.includes("?")) {
      const key = await keys.identify(request);
      if (key.isUnrestricted) return record({ request, server, source: key, rateLimit: null });
      return recordRestricted(request, server, key);
    }
    checkUrl(request.url);
    const access = await authorizer.toProject(request, "events:send");
    const { values } = readQuery(new URL(request.url, baseUrl).searchParams, RecordQuery);
    const isSilent = values.silent === "true";
    if (access.by === "key") return recordRestricted(request, server, access, isSilent);
    return record({ request, server, source: { ...access, isSilent }, rateLimit: null });
  };

  /** Records events of a key that is limited to some origins or a rate. */
  async function recordRestricted(
    request: Request,
    server: Pick<Server<undefined>, "timeout">,
    key: KeyAccess,
    isSilent = false,
  ): Promise<Response> {
    checkKey(key, "events:send");
    const origin = key.kind === "publishable" ? request.headers.get("origin") : null;
    checkKeyOrigin(key, origin);
    const rateLimit = rateLimits.of(key);
    const response = await record({ request, server, source: { ...key, isSilent }, rateLimit }).catch(
      (error) => errorResponse(error, failures, request),
    );
    const { headers } = response;
    if (origin !== null) {
      headers.set("access-control-allow-origin", origin);
      headers.append("vary", "origin");
    }
    if (rateLimit) {
      rateLimit.addHeaders(headers);
      headers.append("access-control-expose-headers", "ratelimit, ratelimit-policy");
    }
    return response;
  }

  async function record({ request, server, source, rateLimit }: Incoming): Promise<Response> {
    const { headers } = request;
    const type = headers.get("content-type");
    const idempotencyKey = headers.get("idempotency-key");
    // Bun's timeout runs from the start of the request, even while the body arrives. Each call restarts it.
    const extendTimeout = (seconds: number) => server.timeout(request, seconds);
    if (isNdjson(type)) {
      if (idempotencyKey !== null) throw keyForLines();
      return recordLines(request, {
        recorder,
        rejected,
        source,
        async authorize(events) {
          if (secretOf(headers) !== null) checkKey(await keys.identify(request), "events:send");
          else await authorizer.toProject(request, "events:send");
          await rateLimit?.take(events);
        },
        linesMax: rateLimit?.windowEvents ?? Infinity,
        extendTimeout: () => extendTimeout(limits.linesPauseSeconds),
      });
    }
    const permit = new BodyPermit(largeBodies, source.projectId);
    try {
      const bytes = await readEventBytes(request, type, headers.get("content-length"), permit, extendTimeout);
      try {
        if (rateLimit)
          await rateLimit.take(isArray(bytes) ? (await JsonArray.read(bytes, source.projectId)).length : 1);
        if (idempotencyKey !== null) return await idempotency.handle(idempotencyKey, bytes, source);
        if (!isArray(bytes)) return eventResponse(await recorder.record(parseJson(bytes), source), source);
        const array = await JsonArray.read(bytes, source.projectId);
        const { outcomes, duplicates } = await recordBatch({ recorder, rejected }, array, source);
        return batchResponse(outcomes, source, { duplicates });
      } catch (error) {
        if (error instanceof ProblemError) {
          await rejected.keep([{ body: rejectedText(bytes), problem: error }], source);
        }
        throw error;
      }
    } finally {
      permit.release();
    }
  }
}

function keyForLines(): ProblemError {
  return problem("idempotency-key-invalid", {
    detail: 'An Idempotency-Key can\'t be used with NDJSON. Give each event its own "id" instead.',
  });
}
