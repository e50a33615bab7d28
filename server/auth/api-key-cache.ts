import type { Kysely } from "kysely";
import { keyMay } from "../core/permissions.ts";
import { type ProblemError, problem } from "../core/problems.ts";
import { RecentReads } from "../core/recent-reads.ts";
import type { KeyAccess } from "../http/caller.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { hashOf, isSecret } from "./key-secret.ts";
import { originsOf, scopesOf } from "./keys.ts";

/** The last use, with its address, is recorded at most this often. */
const recordUseMs = 60_000;
const keysMax = 10_000;

type CachedKey = KeyAccess & { expiresAtMs: number; useDueMs: number };

/** Identifies the API key of a request. Keys in use are cached. */
export class ApiKeyCache {
  readonly #control: Kysely<ControlTables>;
  /** Keyed by the secret itself: hashing it for each event would cost more than everything else here. */
  readonly #entries = new RecentReads<string, CachedKey>({
    read: (secret) => this.#read(secret),
    max: keysMax,
  });
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
    const found = this.#entries.get(secret);
    if (found instanceof Promise) return found.then((entry) => this.#used(entry, request));
    if (Date.now() < found.expiresAtMs) return this.#used(found, request);
    this.#entries.invalidate(secret);
    return this.identifySecret(secret, request);
  }

  #used(entry: CachedKey, request: Request): CachedKey {
    const now = Date.now();
    if (now >= entry.useDueMs) this.#recordUse(entry, request, now);
    return entry;
  }

  /** Makes a change or the revocation of a key effective at once. */
  invalidateKey(id: string): void {
    this.#entries.invalidateWhere(({ keyId }) => keyId === id);
  }

  /** Makes a change or the deletion of a project effective at once. */
  invalidateProject(projectId: number): void {
    this.#entries.invalidateWhere((key) => key.projectId === projectId);
  }

  async close(): Promise<void> {
    await Promise.all(this.#uses);
  }

  async #read(secret: string): Promise<CachedKey> {
    if (!isSecret(secret)) {
      throw problem("key-invalid", {
        detail: "This is not a Tidings API key: a character is missing or mistyped.",
      });
    }
    const now = Date.now();
    const row = await this.#control
      .selectFrom("keys")
      .innerJoin("projects", "projects.id", "keys.projectId")
      .select(["keys.id", "keys.name", "kind", "scopes", "origins", "eventsPerSecond", "keys.projectId"])
      .select([
        "identify",
        "identitySecret",
        "knownChannelsOnly",
        "eventsPerDay",
        "expiresAt",
        "revokedAt",
        "lastUsedAt",
      ])
      .where("hash", "=", hashOf(secret))
      .executeTakeFirst();
    const isExpired = row !== undefined && row.expiresAt !== null && row.expiresAt <= now;
    if (!row || row.revokedAt !== null || isExpired) {
      this.#entries.invalidate(secret);
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
    return {
      by: "key",
      keyId: row.id,
      keyName: row.name,
      kind: row.kind,
      scopes,
      origins: originsOf(row),
      eventsPerSecond: row.eventsPerSecond,
      identify: row.identify,
      identitySecret: row.identitySecret,
      isUnrestricted: row.kind === "secret" && scopes.has("ingest") && row.eventsPerSecond === null,
      projectId: row.projectId,
      knownChannelsOnly: row.knownChannelsOnly === 1,
      eventsPerDay: row.eventsPerDay,
      mayRead: keyMay({ kind: row.kind, scopes }, "events:read"),
      expiresAtMs: row.expiresAt ?? Infinity,
      useDueMs: this.#entries.peek(secret)?.useDueMs ?? (row.lastUsedAt ?? 0) + recordUseMs,
    };
  }

  #recordUse(entry: CachedKey, request: Request, now: number): void {
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
