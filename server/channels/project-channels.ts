import type { Kysely } from "kysely";
import { LRUCache } from "lru-cache";
import { limits } from "../limits.ts";
import { clipped } from "../problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { nearest } from "../validation/nearest.ts";

/** How long cached names are valid if they must be complete. */
const maxAgeMs = 1_000;
/** From this age on, names are reloaded in the background, so that events of a busy project never wait. */
const refreshAgeMs = 500;
const projectsMax = 1_000;
/** Unknown channels per request for which the nearest known one is suggested. Each is compared with all. */
const suggestionsMax = 20;

type Entry = { names: Set<string>; readAtMs: number };
type Project = { projectId: number; knownChannelsOnly: boolean };
type Sender = Project & { mayRead: boolean };

/**
 * Caches channel names, to decide which events are rejected for their channel: if the project accepts known channels
 * only, or has the maximum number of them.
 */
export class ProjectChannels {
  readonly #control: Kysely<ControlTables>;
  readonly #now: () => number;
  readonly #entries = new LRUCache<number, Entry>({ max: projectsMax });
  /** Events of one project share one query. */
  readonly #reads = new Map<number, Promise<void>>();

  constructor(control: Kysely<ControlTables>, now: () => number = Date.now) {
    this.#control = control;
    this.#now = now;
  }

  /** Must be called, and its promise awaited if there is one, before `rejectionOf`. */
  prepare({ projectId, knownChannelsOnly }: Project, bodies: readonly unknown[]): Promise<void> | undefined {
    const entry = this.#entries.get(projectId);
    if (!entry) return this.#read(projectId);
    if (knownChannelsOnly) {
      const ageMs = this.#now() - entry.readAtMs;
      if (ageMs >= maxAgeMs) return this.#read(projectId);
      // If this query fails, the next event that has to wait for one gets the error.
      if (ageMs >= refreshAgeMs) this.#read(projectId).catch(() => {});
      return undefined;
    }
    // Only for events that would be rejected: a channel may have been deleted in the meantime.
    const mayBeFull = entry.names.size + bodies.length > limits.channels;
    if (mayBeFull && this.#now() - entry.readAtMs >= maxAgeMs && bodies.some((body) => isNew(entry, body))) {
      return this.#read(projectId);
    }
    return undefined;
  }

  /**
   * Why events of a channel are rejected, as a sentence, or null. A new channel that is accepted counts from now on.
   *
   * @param details - messages for other channels in the same request
   */
  rejectionOf(
    { projectId, knownChannelsOnly, mayRead }: Sender,
    name: string,
    details?: Map<string, string>,
  ): string | null {
    const names = this.#entries.get(projectId)?.names;
    if (!names || names.has(name)) return null;
    if (!knownChannelsOnly && names.size < limits.channels) {
      names.add(name);
      return null;
    }
    const cached = details?.get(name);
    if (cached !== undefined) return cached;
    // Names are suggested to those who may list them.
    const suggested = mayRead && (details?.size ?? 0) < suggestionsMax ? names : [];
    const detail = knownChannelsOnly ? unknownDetail(name, suggested) : fullDetail(name);
    details?.set(name, detail);
    return detail;
  }

  /** Makes a change of a project's channels effective at once. */
  invalidate(projectId: number): void {
    this.#entries.delete(projectId);
    this.#reads.delete(projectId);
  }

  #read(projectId: number): Promise<void> {
    const pending = this.#reads.get(projectId);
    if (pending) return pending;
    const readAtMs = this.#now();
    const read = this.#namesOf(projectId)
      .then((names) => {
        // Names read before a change are not cached.
        if (this.#reads.get(projectId) !== read)
          return this.#entries.has(projectId) ? undefined : this.#read(projectId);
        this.#entries.set(projectId, { names, readAtMs });
        return undefined;
      })
      .finally(() => {
        if (this.#reads.get(projectId) === read) this.#reads.delete(projectId);
      });
    this.#reads.set(projectId, read);
    return read;
  }

  async #namesOf(projectId: number): Promise<Set<string>> {
    const channels = await this.#control
      .selectFrom("channels")
      .select("name")
      .where("projectId", "=", projectId)
      .execute();
    return new Set(channels.map(({ name }) => name));
  }
}

function isNew({ names }: Entry, body: unknown): boolean {
  const channel = (body as { channel?: unknown } | null)?.channel;
  return typeof channel === "string" && !names.has(channel);
}

function unknownDetail(name: string, names: Iterable<string>): string {
  const suggestion = nearest(name, names);
  const hint =
    suggestion === null ? "Create it first, or use another." : `Did you mean "${clipped(suggestion)}"?`;
  return `Unknown channel "${clipped(name)}": this project rejects events for channels that don't exist. ${hint}`;
}

function fullDetail(name: string): string {
  return `The project already has ${limits.channels.toLocaleString("en")} channels, the maximum, so "${clipped(name)}" can't be created. Use a tag instead, or delete channels.`;
}
