import type { Server } from "bun";
import type { ApiKeyCache, KnownKey } from "../auth/api-key-cache.ts";
import { type Authorizer, checkKey } from "../auth/authorizer.ts";
import { ProjectQuery, readQuery } from "../event/event-query.ts";
import { BodyPermit, BodySemaphore, isNdjson, readEventBytes } from "../http/body.ts";
import { isArray, JsonArray, parseJson, rejectedText } from "../http/json.ts";
import { limits } from "../limits.ts";
import { ProblemError, problem } from "../problems.ts";
import type { Store } from "../storage/store.ts";
import { batchResponse, recordBatch } from "./batch.ts";
import { Idempotency } from "./idempotency.ts";
import { recordLines } from "./ndjson.ts";
import { type EventSource, eventResponse, type Recorder } from "./record.ts";
import type { RejectedEvents } from "./rejected.ts";

type Deps = {
  authorizer: Authorizer;
  keys: ApiKeyCache;
  recorder: Recorder;
  rejected: RejectedEvents;
  store: Store;
  baseUrl: string;
};

/** Handles `POST /api/events`. It is one of `Bun.serve`'s own routes, so events bypass the router. */
export function recordRoute({ authorizer, keys, recorder, rejected, store, baseUrl }: Deps) {
  const idempotency = new Idempotency({ control: store.control, recorder, rejected });
  const largeBodies = new BodySemaphore();

  return async (request: Request, server: Pick<Server<undefined>, "timeout">): Promise<Response> => {
    const { headers } = request;
    const isSimple = headers.get("x-api-key") !== null && !request.url.includes("?");
    const source: EventSource = isSimple
      ? permittedToSend(await keys.identify(headers))
      : await authorizer.toProject(request, "events:send");
    if (!isSimple) readQuery(new URL(request.url, baseUrl).searchParams, ProjectQuery);
    const type = headers.get("content-type");
    const idempotencyKey = headers.get("idempotency-key");
    // Bun's timeout runs from the start of the request, even while the body arrives. Each call restarts it.
    const extendTimeout = (seconds: number) => server.timeout(request, seconds);
    if (isNdjson(type)) {
      if (idempotencyKey !== null) throw keyForLines();
      return recordLines({ recorder, rejected }, request, source, () =>
        extendTimeout(limits.linesPauseSeconds),
      );
    }
    const permit = new BodyPermit(largeBodies, source.projectId);
    try {
      const bytes = await readEventBytes(request, type, headers.get("content-length"), permit, extendTimeout);
      try {
        if (idempotencyKey !== null) return await idempotency.handle(idempotencyKey, bytes, source);
        if (!isArray(bytes)) return eventResponse(await recorder.record(parseJson(bytes), source));
        return batchResponse(await recordBatch({ recorder, rejected }, await JsonArray.read(bytes), source));
      } catch (error) {
        if (error instanceof ProblemError) {
          await rejected.keep([{ body: rejectedText(bytes), problem: error }], source);
        }
        throw error;
      }
    } finally {
      permit.release();
    }
  };
}

function permittedToSend(key: KnownKey): EventSource {
  checkKey(key, "events:send");
  return key;
}

function keyForLines(): ProblemError {
  return problem("idempotency-key-invalid", {
    detail: 'An Idempotency-Key can\'t be used with NDJSON. Give each event its own "id" instead.',
  });
}
