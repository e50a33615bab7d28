import type { Kysely } from "kysely";
import { makeChange } from "../audit/changes.ts";
import type { ApiKeyCache } from "../auth/api-key-cache.ts";
import { checkKey } from "../auth/authorizer.ts";
import { hashOf } from "../auth/key-secret.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { KeyAccess } from "../http/caller.ts";
import { clientNetwork } from "../http/client-address.ts";
import type { KeyRateLimits } from "../ingest/key-limits.ts";
import { defaultChannel, isHeartbeatSlug } from "../schemas/heartbeat.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { RateLimiter } from "../storage/rate-limiter.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import type { Store } from "../storage/store.ts";
import { takePoint } from "../storage/take-point.ts";
import { createHeartbeat, type HeartbeatRow, heartbeatWithSlug } from "./heartbeats.ts";
import { ridOf, signalOf } from "./ping-address.ts";
import { readPingBody } from "./ping-body.ts";
import { PingQueue } from "./ping-queue.ts";

type Deps = {
  store: Store;
  secrets: SecretBox;
  keys: ApiKeyCache;
  rateLimits: KeyRateLimits;
  addressOf: (request: Request) => string | null;
  /** A heartbeat has changed, and has events to record. */
  onPing: () => void;
  now: () => number;
};

const dayMinutes = 24 * 60;

/** Takes in pings, by the address of a heartbeat, or by an API key and a slug. */
export class PingReceiver {
  readonly #deps: Deps;
  readonly #queue: PingQueue;
  readonly #pings: RateLimiter;
  readonly #misses: RateLimiter;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#queue = new PingQueue(deps);
    const limiter = (name: string, points: number) => deps.store.rateLimiter({ name, points, seconds: 60 });
    this.#pings = limiter("pings", limits.pingsPerMinute);
    this.#misses = limiter("ping-misses", limits.webhookMissesPerMinute);
  }

  /**
   * Takes in a ping of `/ping/{token}`. Resolves once it is durable.
   *
   * Throws `heartbeat-unknown`, `query-invalid`, `too-many-requests`, and what the storage throws.
   */
  async byToken(request: Request, token: string, end: string | undefined): Promise<void> {
    const row = await this.#deps.store.control
      .selectFrom("heartbeats")
      .innerJoin("projects", "projects.id", "heartbeats.projectId")
      .select("heartbeats.id")
      // The hash is looked up, not the token, so the time tells nothing of how much of a token is right.
      .where("heartbeats.tokenHash", "=", hashOf(token))
      .where("projects.deletedAt", "is", null)
      .executeTakeFirst();
    if (!row) {
      await takePoint(this.#misses, clientNetwork(this.#deps.addressOf(request)));
      throw problem("heartbeat-unknown", {
        detail:
          "There is no heartbeat at this address. It may have been deleted, or its address replaced. Copy the address from the page Heartbeats of your project.",
      });
    }
    await this.#receive(request, row.id, end);
  }

  /**
   * Takes in a ping of `/ping/{key}/{slug}`. With `?create=1`, it creates a heartbeat that isn't there. Returns whether
   * it did.
   *
   * Throws what `byToken` throws, `key-invalid`, `key-insufficient`, `rate-limited`, `limit-reached` and
   * `body-invalid`.
   */
  async bySlug(request: Request, secret: string, slug: string, end: string | undefined): Promise<boolean> {
    const { keys, rateLimits, store } = this.#deps;
    const key = await keys.identifySecret(secret, request);
    checkKey(key, "events:send");
    // Anyone can read it in a web page, and whoever can ping can hide that a job has failed.
    if (key.kind === "publishable")
      throw problem("key-insufficient", {
        detail: "A publishable key can't ping. Use the heartbeat's own address, or a secret key.",
      });
    await rateLimits.of(key)?.take(1);
    // An address that is wrong creates nothing.
    const { searchParams } = new URL(request.url);
    signalOf(end);
    ridOf(searchParams);
    let row = await heartbeatWithSlug(store.control, key.projectId, slug);
    const isNew = row === undefined && searchParams.get("create") === "1";
    if (isNew) row = await this.#create(request, key, slug);
    if (!row)
      throw problem("heartbeat-unknown", {
        detail: `The key's project has no heartbeat "${slug.slice(0, limits.heartbeatSlugCharacters)}". Create it on the page Heartbeats, or add ?create=1 to the address to create it with its first ping.`,
      });
    await this.#receive(request, row.id, end);
    return isNew;
  }

  async #receive(request: Request, id: string, end: string | undefined): Promise<void> {
    const signal = signalOf(end);
    const rid = ridOf(new URL(request.url).searchParams);
    await takePoint(this.#pings, id);
    const body = await readPingBody(request);
    const isFound = await this.#queue.add(id, { ...signal, rid, body });
    if (!isFound) throw problem("heartbeat-unknown", { detail: "This heartbeat was just deleted." });
    this.#deps.onPing();
  }

  /** Creates a heartbeat of the default schedule. Another ping may have created it at the same time. */
  async #create(request: Request, key: KeyAccess, slug: string): Promise<HeartbeatRow> {
    const { store, secrets, addressOf } = this.#deps;
    if (!isHeartbeatSlug(slug)) {
      const detail = `A heartbeat's slug must have 1 to ${limits.heartbeatSlugCharacters} lower-case letters, digits, - and _, as in nightly-backup.`;
      throw problem("body-invalid", { detail, errors: [{ pointer: "", detail }] });
    }
    const actor = {
      kind: "key",
      id: key.keyId,
      name: key.keyName,
      address: addressOf(request),
      userAgent: request.headers.get("user-agent"),
    } as const;
    const heartbeat = {
      name: slug,
      slug,
      channel: defaultChannel,
      schedule: { type: "period", minutes: dayMinutes } as const,
      graceMinutes: 60,
      maxMinutes: null,
      enabled: true,
    };
    return orFound(store.control, key.projectId, slug, () =>
      makeChange(store.control, { actor, projectId: key.projectId }, async (change) => {
        const { row } = await createHeartbeat(change, secrets, heartbeat);
        return row;
      }),
    );
  }
}

async function orFound(
  control: Kysely<ControlTables>,
  projectId: number,
  slug: string,
  create: () => Promise<HeartbeatRow>,
): Promise<HeartbeatRow> {
  try {
    return await create();
  } catch (error) {
    const found = await heartbeatWithSlug(control, projectId, slug);
    if (found) return found;
    throw error;
  }
}
