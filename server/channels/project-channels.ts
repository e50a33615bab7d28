import type { Kysely } from "kysely";
import { LRUCache } from "lru-cache";
import { limits } from "../limits.ts";
import { clipped } from "../problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { nearest } from "../validation/nearest.ts";

/** How long the names are trusted without another look at the database, where it matters that they are complete. */
const trustMs = 1_000;
/** From this age on the next look is under way while events go on, so that those of a busy project never wait for it. */
const freshMs = 500;
const projectsMax = 1_000;
/** Unknown channels of a request for which the nearest known one is suggested: each is compared with all. */
const suggestionsMax = 20;

type Entry = { names: Set<string>; readAtMs: number };
type Project = { projectId: number; knownChannelsOnly: boolean };

/**
 * The names of projects' channels, kept in memory to decide which events are rejected for their channel: where a project takes known channels
 * only, and where it has as many as it can have.
 */
export class ProjectChannels {
  readonly #control: Kysely<ControlTables>;
  readonly #now: () => number;
  readonly #entries = new LRUCache<number, Entry>({ max: projectsMax });
  /** However many events wait for a project's names, they share one look. */
  readonly #reads = new Map<number, Promise<void>>();

  constructor(control: Kysely<ControlTables>, now: () => number = Date.now) {
    this.#control = control;
    this.#now = now;
  }

  /** To be awaited, where it gives a promise, before events of a project are asked about with `rejectionOf`. */
  prepare({ projectId, knownChannelsOnly }: Project, bodies: readonly unknown[]): Promise<void> | undefined {
    const entry = this.#entries.get(projectId);
    if (!entry) return this.#read(projectId);
    if (knownChannelsOnly) {
      const ageMs = this.#now() - entry.readAtMs;
      if (ageMs >= trustMs) return this.#read(projectId);
      // What this look meets, the next event meets that has to wait for one.
      if (ageMs >= freshMs) this.#read(projectId).catch(() => {});
      return undefined;
    }
    // Only an event that would be rejected needs to know that no channel was deleted meanwhile.
    const mayBeFull = entry.names.size + bodies.length > limits.channels;
    if (mayBeFull && this.#now() - entry.readAtMs >= trustMs && bodies.some((body) => isNew(entry, body))) {
      return this.#read(projectId);
    }
    return undefined;
  }

  /**
   * Why events of this channel are rejected, as a sentence, or null. A new channel that is not rejected counts from now on.
   *
   * @param told - what was said of other channels in the same request
   */
  rejectionOf(
    { projectId, knownChannelsOnly }: Project,
    name: string,
    told?: Map<string, string>,
  ): string | null {
    const names = this.#entries.get(projectId)?.names;
    if (!names || names.has(name)) return null;
    if (!knownChannelsOnly && names.size < limits.channels) {
      names.add(name);
      return null;
    }
    const known = told?.get(name);
    if (known !== undefined) return known;
    const detail = knownChannelsOnly ? unknownDetail(name, names, told?.size ?? 0) : fullDetail(name);
    told?.set(name, detail);
    return detail;
  }

  /** Makes a change of a project's channels known at once. */
  forget(projectId: number): void {
    this.#entries.delete(projectId);
    this.#reads.delete(projectId);
  }

  #read(projectId: number): Promise<void> {
    const known = this.#reads.get(projectId);
    if (known) return known;
    const readAtMs = this.#now();
    const read = this.#namesOf(projectId)
      .then((names) => {
        // A look from before a change is not kept.
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

function unknownDetail(name: string, names: Set<string>, toldBefore: number): string {
  const meant = toldBefore < suggestionsMax ? nearest(name, names) : null;
  const remedy = meant === null ? "Create it first, or use another." : `Did you mean "${clipped(meant)}"?`;
  return `Unknown channel "${clipped(name)}": this project rejects events for channels that don't exist. ${remedy}`;
}

function fullDetail(name: string): string {
  return `The project already has ${limits.channels.toLocaleString("en")} channels, the maximum, so "${clipped(name)}" can't be created. Use a tag instead, or delete channels.`;
}
