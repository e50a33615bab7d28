import type { Kysely } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import { problem } from "../wire/problems.ts";
import { hashOf, isSecret } from "./secret.ts";

export type KnownKey = { keyId: string; projectId: number; knownChannelsOnly: boolean };

/** How long a key is trusted without another look at the database; a command may have revoked it. */
const trustMs = 1_000;
/** `lastUsedAt` is written this often at most. */
const noteUseMs = 60_000;
const keysMax = 10_000;

type Entry = KnownKey & { checkedAtMs: number; usedAtMs: number; notedAtMs: number };

/** Tells whose key a request carries; keys in use are held in memory. */
export class KeyRing {
  readonly #control: Kysely<ControlTables>;
  /** By the key itself: a hash for each event would cost more than all the rest of this file. */
  readonly #entries = new Map<string, Entry>();
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
        detail:
          'Send your API key in the header "x-api-key". Keys are made on the dashboard, under "API keys".',
      });
    }
    const now = Date.now();
    const entry = this.#entries.get(secret);
    if (entry && now - entry.checkedAtMs < trustMs) {
      entry.usedAtMs = now;
      return entry;
    }
    return this.#look(secret, now);
  }

  /** Makes a revoked key invalid at once. */
  forget(id: string): void {
    for (const [secret, entry] of this.#entries) if (entry.keyId === id) this.#entries.delete(secret);
  }

  /** Makes a change of a project's settings, or that it was deleted, known at once. */
  forgetProject(projectId: number): void {
    for (const [secret, entry] of this.#entries) {
      if (entry.projectId === projectId) this.#entries.delete(secret);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#noting);
    await this.#noteUse().catch(this.#onError);
  }

  async #look(secret: string, now: number): Promise<KnownKey> {
    if (!isSecret(secret)) {
      throw problem("key-invalid", {
        detail: "This is not an API key of Tidings: a character is missing or mistyped.",
      });
    }
    const row = await this.#control
      .selectFrom("keys")
      .innerJoin("projects", "projects.id", "keys.projectId")
      .select(["keys.id", "keys.projectId", "revokedAt", "lastUsedAt", "knownChannelsOnly"])
      .where("hash", "=", hashOf(secret))
      .executeTakeFirst();
    if (!row || row.revokedAt !== null) {
      this.#entries.delete(secret);
      throw problem("key-invalid", {
        detail: row ? "This API key was revoked." : "This API key is not known here.",
      });
    }
    if (this.#entries.size >= keysMax) this.#entries.clear();
    const notedAtMs = this.#entries.get(secret)?.notedAtMs ?? row.lastUsedAt ?? 0;
    const entry = {
      keyId: row.id,
      projectId: row.projectId,
      knownChannelsOnly: row.knownChannelsOnly === 1,
      checkedAtMs: now,
      usedAtMs: now,
      notedAtMs,
    };
    this.#entries.set(secret, entry);
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
