import type { Kysely } from "kysely";
import { LRUCache } from "lru-cache";
import { problem } from "../problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { hashOf, isSecret } from "./key-secret.ts";

export type KnownKey = { keyId: string; projectId: number; knownChannelsOnly: boolean };

/** How long a key is trusted without another look at the database; a command or another node may have revoked it. */
const trustMs = 1_000;
/** From this age on the next look is under way while requests go on, so that those of a busy key never wait for it. */
const freshMs = 500;
/** `lastUsedAt` is written this often at most. */
const noteUseMs = 60_000;
const keysMax = 10_000;

type Entry = KnownKey & { checkedAtMs: number; usedAtMs: number; notedAtMs: number };

/** Tells whose key a request carries; keys in use are held in memory. */
export class ApiKeyCache {
  readonly #control: Kysely<ControlTables>;
  /** By the key itself: a hash for each event would cost more than all the rest of this file. */
  readonly #entries = new LRUCache<string, Entry>({ max: keysMax });
  /** However many requests carry a key, they share one look. */
  readonly #looks = new Map<string, { startedMs: number; entry: Promise<Entry> }>();
  /** Counts what made keys invalid here, so that a look from before it is not kept. */
  #forgotten = 0;
  readonly #noting: Timer;
  readonly #onError: (error: unknown) => void;

  constructor(control: Kysely<ControlTables>, onError: (error: unknown) => void) {
    this.#control = control;
    this.#onError = onError;
    this.#noting = setInterval(() => this.#noteUse().catch(onError), noteUseMs);
    this.#noting.unref();
  }

  /**
   * The key of a request; at once where it was seen within the last second.
   *
   * Throws `key-missing` and `key-invalid`.
   */
  identify(headers: Headers): KnownKey | Promise<KnownKey> {
    const secret = secretOf(headers);
    if (secret === null) {
      throw problem("key-missing", {
        detail: 'Send your API key in the header "x-api-key". Create keys in the dashboard under "API keys".',
      });
    }
    const now = Date.now();
    const entry = this.#entries.get(secret);
    if (!entry || now - entry.checkedAtMs >= trustMs) return this.#look(secret, now);
    entry.usedAtMs = now;
    // What this look meets, the next request meets that has to wait for one.
    if (now - entry.checkedAtMs >= freshMs) this.#look(secret, now).catch(() => {});
    return entry;
  }

  /** Makes a revoked key invalid at once. */
  forget(id: string): void {
    this.#forgotten++;
    this.#looks.clear();
    for (const [secret, entry] of this.#entries) if (entry.keyId === id) this.#entries.delete(secret);
  }

  /** Makes a change of a project's settings, or that it was deleted, known at once. */
  forgetProject(projectId: number): void {
    this.#forgotten++;
    this.#looks.clear();
    for (const [secret, entry] of this.#entries) {
      if (entry.projectId === projectId) this.#entries.delete(secret);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#noting);
    await this.#noteUse().catch(this.#onError);
  }

  #look(secret: string, now: number): Promise<KnownKey> {
    const known = this.#looks.get(secret);
    if (known && now - known.startedMs < trustMs) return known.entry;
    const look = { startedMs: now, entry: this.#read(secret, now) };
    this.#looks.set(secret, look);
    const isOver = () => {
      if (this.#looks.get(secret) === look) this.#looks.delete(secret);
    };
    look.entry.then(isOver, isOver);
    return look.entry;
  }

  async #read(secret: string, now: number): Promise<Entry> {
    if (!isSecret(secret)) {
      throw problem("key-invalid", {
        detail: "This is not a Tidings API key: a character is missing or mistyped.",
      });
    }
    const forgotten = this.#forgotten;
    const row = await this.#control
      .selectFrom("keys")
      .innerJoin("projects", "projects.id", "keys.projectId")
      .select(["keys.id", "keys.projectId", "revokedAt", "lastUsedAt", "knownChannelsOnly"])
      .where("hash", "=", hashOf(secret))
      .executeTakeFirst();
    if (!row || row.revokedAt !== null) {
      this.#entries.delete(secret);
      throw problem("key-invalid", {
        detail: row ? "This API key was revoked." : "Unknown API key.",
      });
    }
    const notedAtMs = this.#entries.get(secret)?.notedAtMs ?? row.lastUsedAt ?? 0;
    const entry = {
      keyId: row.id,
      projectId: row.projectId,
      knownChannelsOnly: row.knownChannelsOnly === 1,
      checkedAtMs: now,
      usedAtMs: now,
      notedAtMs,
    };
    if (forgotten === this.#forgotten) this.#entries.set(secret, entry);
    if (notedAtMs === 0) this.#noteUse().catch(this.#onError);
    return entry;
  }

  async #noteUse(): Promise<void> {
    for (const entry of this.#entries.values()) {
      if (entry.usedAtMs - entry.notedAtMs < noteUseMs && entry.notedAtMs !== 0) continue;
      entry.notedAtMs = entry.usedAtMs;
      await this.#control
        .updateTable("keys")
        .set({ lastUsedAt: entry.usedAtMs })
        .where("id", "=", entry.keyId)
        // Another node may have noted a later use.
        .where((eb) => eb.or([eb("lastUsedAt", "is", null), eb("lastUsedAt", "<", entry.usedAtMs)]))
        .execute();
    }
  }
}

/** The key that a request carries in `x-api-key` or as a bearer token (RFC 6750), or null. */
export function secretOf(headers: Headers): string | null {
  const own = headers.get("x-api-key");
  if (own !== null) return own;
  const authorization = headers.get("authorization");
  if (authorization === null) return null;
  return /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? null;
}
