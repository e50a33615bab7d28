import type { Kysely } from "kysely";
import { LRUCache } from "lru-cache";
import type { KeyAccess } from "../http/caller.ts";
import { keyMay } from "../permissions.ts";
import { type ProblemError, problem } from "../problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { hashOf, isSecret } from "./key-secret.ts";
import { originsOf, scopesOf } from "./keys.ts";

/** How long a key is valid without checking the database again. A command or another node may revoke it. */
const maxAgeMs = 1_000;
/** From this age on, a key is checked in the background, so that requests with a busy key never wait. */
const refreshAgeMs = 500;
/** The last use, with its address, is recorded at most this often. */
const recordUseMs = 60_000;
const keysMax = 10_000;

type Entry = KeyAccess & { expiresAtMs: number; checkedAtMs: number; useDueMs: number };

/** Identifies the API key of a request. Keys in use are cached. */
export class ApiKeyCache {
  readonly #control: Kysely<ControlTables>;
  /** Keyed by the secret itself: hashing it for each event would cost more than everything else here. */
  readonly #entries = new LRUCache<string, Entry>({ max: keysMax });
  /** Requests with the same key share one lookup. */
  readonly #lookups = new Map<string, { startedMs: number; entry: Promise<Entry> }>();
  /** Number of invalidations. A lookup that started before the last one is not cached. */
  #invalidations = 0;
  /** Uses that are being recorded. */
  readonly #uses = new Set<Promise<void>>();
  readonly #addressOf: (request: Request) => string | null;
  readonly #onError: (error: unknown) => void;

  /** @param addressOf - returns the client's address; called once a minute for each key */
  constructor(
    control: Kysely<ControlTables>,
    addressOf: (request: Request) => string | null,
    onError: (error: unknown) => void,
  ) {
    this.#control = control;
    this.#addressOf = addressOf;
    this.#onError = onError;
  }

  /**
   * Identifies the key of a request, synchronously if it was checked within the last second.
   *
   * Throws `key-missing` and `key-invalid`.
   */
  identify(request: Request): KeyAccess | Promise<KeyAccess> {
    const secret = secretOf(request.headers);
    if (secret === null) throw keyMissing();
    return this.identifySecret(secret, request);
  }

  /** The same for a key that a request carries elsewhere. Throws `key-invalid`. */
  identifySecret(secret: string, request: Request): KeyAccess | Promise<KeyAccess> {
    const now = Date.now();
    const entry = this.#entries.get(secret);
    if (!entry || now - entry.checkedAtMs >= maxAgeMs || now >= entry.expiresAtMs) {
      return this.#lookUp(secret, now).then((found) => {
        if (now >= found.useDueMs) this.#recordUse(found, request, now);
        return found;
      });
    }
    if (now >= entry.useDueMs) this.#recordUse(entry, request, now);
    // If this lookup fails, the next request that has to wait for one gets the error.
    if (now - entry.checkedAtMs >= refreshAgeMs) this.#lookUp(secret, now).catch(() => {});
    return entry;
  }

  /** Makes a change or the revocation of a key effective at once. */
  invalidateKey(id: string): void {
    this.#invalidations++;
    this.#lookups.clear();
    for (const [secret, entry] of this.#entries) if (entry.keyId === id) this.#entries.delete(secret);
  }

  /** Makes a change or the deletion of a project effective at once. */
  invalidateProject(projectId: number): void {
    this.#invalidations++;
    this.#lookups.clear();
    for (const [secret, entry] of this.#entries) {
      if (entry.projectId === projectId) this.#entries.delete(secret);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#uses);
  }

  #lookUp(secret: string, now: number): Promise<Entry> {
    const current = this.#lookups.get(secret);
    if (current && now - current.startedMs < maxAgeMs) return current.entry;
    const lookup = { startedMs: now, entry: this.#read(secret, now) };
    this.#lookups.set(secret, lookup);
    const remove = () => {
      if (this.#lookups.get(secret) === lookup) this.#lookups.delete(secret);
    };
    lookup.entry.then(remove, remove);
    return lookup.entry;
  }

  async #read(secret: string, now: number): Promise<Entry> {
    if (!isSecret(secret)) {
      throw problem("key-invalid", {
        detail: "This is not a Tidings API key: a character is missing or mistyped.",
      });
    }
    const invalidations = this.#invalidations;
    const row = await this.#control
      .selectFrom("keys")
      .innerJoin("projects", "projects.id", "keys.projectId")
      .select(["keys.id", "keys.name", "kind", "scopes", "origins", "eventsPerSecond", "keys.projectId"])
      .select(["knownChannelsOnly", "eventsPerDay", "expiresAt", "revokedAt", "lastUsedAt"])
      .where("hash", "=", hashOf(secret))
      .executeTakeFirst();
    const isExpired = row !== undefined && row.expiresAt !== null && row.expiresAt <= now;
    if (!row || row.revokedAt !== null || isExpired) {
      this.#entries.delete(secret);
      const isRevoked = row !== undefined && row.revokedAt !== null;
      throw problem("key-invalid", {
        detail: isRevoked
          ? "This API key was revoked."
          : isExpired
            ? `This API key expired on ${new Date(row.expiresAt!).toISOString()}.`
            : "Unknown API key.",
      });
    }
    const scopes = new Set(scopesOf(row));
    const entry: Entry = {
      by: "key",
      keyId: row.id,
      keyName: row.name,
      kind: row.kind,
      scopes,
      origins: originsOf(row),
      eventsPerSecond: row.eventsPerSecond,
      isUnrestricted: row.kind === "secret" && scopes.has("ingest") && row.eventsPerSecond === null,
      projectId: row.projectId,
      knownChannelsOnly: row.knownChannelsOnly === 1,
      eventsPerDay: row.eventsPerDay,
      mayRead: keyMay({ kind: row.kind, scopes }, "events:read"),
      expiresAtMs: row.expiresAt ?? Infinity,
      checkedAtMs: now,
      useDueMs: this.#entries.get(secret)?.useDueMs ?? (row.lastUsedAt ?? 0) + recordUseMs,
    };
    if (invalidations === this.#invalidations) this.#entries.set(secret, entry);
    return entry;
  }

  #recordUse(entry: Entry, request: Request, now: number): void {
    entry.useDueMs = now + recordUseMs;
    const use = this.#control
      .updateTable("keys")
      .set({ lastUsedAt: now, lastUsedAddress: this.#addressOf(request) })
      .where("id", "=", entry.keyId)
      // Another node may have recorded a later use.
      .where((eb) => eb.or([eb("lastUsedAt", "is", null), eb("lastUsedAt", "<", now)]))
      .execute()
      .then(() => {}, this.#onError)
      .finally(() => this.#uses.delete(use));
    this.#uses.add(use);
  }
}

export function keyMissing(): ProblemError {
  return problem("key-missing", {
    detail: 'Send your API key in the header "x-api-key". Create keys in the dashboard under "API keys".',
  });
}

/** The API key in `x-api-key` or in a bearer token (RFC 6750), or null. */
export function secretOf(headers: Headers): string | null {
  const apiKey = headers.get("x-api-key");
  if (apiKey !== null) return apiKey;
  const authorization = headers.get("authorization");
  if (authorization === null) return null;
  return /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? null;
}
