import { z } from "@hono/zod-openapi";
import type { ApiKeyCache } from "../auth/api-key-cache.ts";
import { checkKey } from "../auth/authorizer.ts";
import { limits } from "../core/limits.ts";
import { ProblemError, pointerTo, problem } from "../core/problems.ts";
import type { Item } from "../drop-in/item.ts";
import { recordItems, throwIfAllRejected } from "../drop-in/record-items.ts";
import { readJsonText } from "../http/body.ts";
import type { KeyAccess } from "../http/caller.ts";
import { rejectedText } from "../http/json.ts";
import { checkKeyOrigin, type KeyRateLimits } from "../ingest/key-limits.ts";
import type { Recorder } from "../ingest/record.ts";
import type { RejectedEvents } from "../ingest/rejected.ts";
import { pageViewName, WebsiteEvent, WebsiteEvents, withinLimits } from "../schemas/website.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import type { Store } from "../storage/store.ts";
import { userIdOfVisitor } from "../users/visitors.ts";
import type { CountryLookup } from "./countries.ts";
import { beginsVisit, type Client, clientTags, itemOf, type Place, pageOf, timeOf } from "./page-events.ts";
import { visitorOf } from "./salts.ts";
import type { WebsiteBoards } from "./website-boards.ts";
import type { WebsiteWorker } from "./website-worker.ts";

/** In messages of rejected events. */
const sender = "Website";

type Deps = {
  store: Store;
  secrets: SecretBox;
  keys: ApiKeyCache;
  rateLimits: KeyRateLimits;
  recorder: Recorder;
  rejected: RejectedEvents;
  worker: WebsiteWorker;
  boards: WebsiteBoards;
  countryOf: CountryLookup;
  addressOf: (request: Request) => string | null;
  now: () => number;
};

/** Receives what the script of web pages sends. */
export class WebsiteReceiver {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Records the events of a request. Resolves once they are durable.
   *
   * Throws `key-missing`, `key-invalid`, `key-insufficient` for a secret key, `key-origin-forbidden`, `rate-limited`,
   * `body-invalid` if no event could be recorded, and what `Recorder.record` throws.
   */
  async receive(request: Request): Promise<void> {
    const { rateLimits, rejected } = this.#deps;
    const { bytes, parse } = await readJsonText(request, limits.requestBytes);
    const sent = parse();
    const key = await this.#identify(keyIn(sent), request);
    checkKeyOrigin(key, request.headers.get("origin"));
    let body: Body;
    try {
      // Wrong bodies count, too: everyone who opens the page can send them.
      const rateLimit = rateLimits.of(key);
      await rateLimit?.take(1);
      body = bodyOf(sent);
      if (body.events.length > 1) await rateLimit?.take(body.events.length - 1);
    } catch (error) {
      if (error instanceof ProblemError)
        await rejected.keep([{ body: rejectedText(bytes), problem: error }], key);
      throw error;
    }
    await this.#record(request, body, key);
  }

  async #identify(secret: string | null, request: Request): Promise<KeyAccess> {
    if (secret === null)
      throw problem("key-missing", {
        detail: 'The body has no key. Put a publishable API key into the attribute "data-key" of the script.',
      });
    const key = await this.#deps.keys.identifySecret(secret, request);
    if (key.kind !== "publishable")
      throw problem("key-insufficient", {
        detail:
          "Everyone who opens the page can read this key, and it is a secret one. Revoke it, and use a publishable key.",
      });
    checkKey(key, "events:send");
    return key;
  }

  async #record(request: Request, body: Body, key: KeyAccess): Promise<void> {
    const { addressOf, countryOf, boards, now, worker } = this.#deps;
    const nowMs = now();
    const client = { address: addressOf(request), userAgent: request.headers.get("user-agent") };
    const tags = clientTags(body, client, countryOf);
    const salt = body.visitor === undefined ? await worker.salts.of(nowMs) : "";
    worker.begin();
    const items: Item[] = [];
    const views = new Set<number>();
    for (const [index, sent] of body.events.entries()) {
      const parsed = WebsiteEvent.safeParse(sent);
      if (!parsed.success) {
        items.push({ fault: faultsOf(parsed.error)[0]!.detail, sent });
        continue;
      }
      const event = parsed.data;
      const page = pageOf(event);
      if (page === null) {
        items.push({ fault: '"url" must be the address of a page, with http or https.', sent });
        continue;
      }
      if (event.name === pageViewName) views.add(index);
      const visitor =
        body.visitor ?? visitorOf(salt, { ...identityOf(client), projectId: key.projectId, host: page.host });
      const place = await this.#placeOf(event, visitor, key.projectId, nowMs);
      items.push(itemOf(event, page, body, tags, place, nowMs));
    }
    const outcomes = await recordItems(this.#deps, sender, items, key);
    throwIfAllRejected(outcomes);
    if (outcomes.some((outcome, index) => views.has(index) && typeof outcome === "string"))
      await boards.addTo(key.projectId);
  }

  async #placeOf(event: WebsiteEvent, visitor: string, projectId: number, nowMs: number): Promise<Place> {
    const { visits } = this.#deps.worker;
    const userId = event.userId || userIdOfVisitor(visitor);
    const atMs = timeOf(event, nowMs);
    const viewId = event.name === pageViewName ? event.id : null;
    const visit = beginsVisit(event)
      ? await visits.at(projectId, visitor, atMs, viewId)
      : await visits.last(projectId, visitor);
    if (visit === null) return { userId, session: null, isEntry: false };
    visits.see(visit, atMs);
    return { userId, session: visit.session, isEntry: viewId !== null && visit.entryId === viewId };
  }
}

function identityOf({ address, userAgent }: Client) {
  return { address: address ?? "", userAgent: userAgent ?? "" };
}

function keyIn(body: unknown): string | null {
  const key = (body as { key?: unknown } | null)?.key;
  return typeof key === "string" && key !== "" ? key : null;
}

/** A body whose events are checked one by one, so that a wrong one doesn't hold up the others. */
const Body = WebsiteEvents.extend({ events: withinLimits(z.array(z.unknown())) });
type Body = z.infer<typeof Body>;

/** Throws `body-invalid`. */
function bodyOf(body: unknown): Body {
  const result = Body.safeParse(body);
  if (result.success) return result.data;
  const errors = faultsOf(result.error);
  throw problem("body-invalid", { detail: `${sender}: ${errors[0]!.detail}`, errors });
}

function faultsOf({ issues }: z.core.$ZodError) {
  return issues.slice(0, limits.itemFaults).map(({ path, message }) => ({
    pointer: pointerTo(...path.map(String)),
    detail: `"${path.join(".")}" ${message}.`,
  }));
}
