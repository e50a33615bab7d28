import type { Kysely } from "kysely";
import { limits } from "../core/limits.ts";
import { clipped } from "../core/problems.ts";
import { RecentReads } from "../core/recent-reads.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { nearest } from "../validation/nearest.ts";

const projectsMax = 1_000;
/** Unknown channels per request for which the nearest known one is suggested. Each is compared with all. */
const suggestionsMax = 20;

type Project = { projectId: number; knownChannelsOnly: boolean };
type Sender = Project & { mayRead: boolean };

/** The names of a project's channels. They decide which events are rejected for their channel. */
export class ChannelNames {
  readonly names: Set<string>;

  constructor(names: Iterable<string>) {
    this.names = new Set(names);
  }

  /**
   * Why events of a channel are rejected, as a sentence, or null: if the project accepts known channels only, or has the
   * maximum number of them. A new channel that is accepted counts from now on.
   *
   * @param details - messages for other channels in the same request
   */
  rejectionOf(
    { knownChannelsOnly, mayRead }: Sender,
    name: string,
    details?: Map<string, string>,
  ): string | null {
    const { names } = this;
    if (names.has(name)) return null;
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
}

/** Caches the names of projects' channels. */
export class ProjectChannels {
  readonly #control: Kysely<ControlTables>;
  readonly #names: RecentReads<number, ChannelNames>;

  constructor(control: Kysely<ControlTables>, now: () => number = Date.now) {
    this.#control = control;
    this.#names = new RecentReads({ read: (projectId) => this.#namesOf(projectId), max: projectsMax, now });
  }

  /** The names that decide about events: at once, unless they have to be read. */
  of(
    { projectId, knownChannelsOnly }: Project,
    bodies: readonly unknown[],
  ): ChannelNames | Promise<ChannelNames> {
    const known = this.#names.peek(projectId);
    if (!known || knownChannelsOnly) return this.#names.get(projectId);
    // Only for events that would be rejected: a channel may have been deleted in the meantime.
    const mayBeFull = known.names.size + bodies.length > limits.channels;
    return mayBeFull && bodies.some((body) => isNew(known, body)) ? this.#names.get(projectId) : known;
  }

  /** Makes a change of a project's channels effective at once. */
  invalidate(projectId: number): void {
    this.#names.invalidate(projectId);
  }

  async #namesOf(projectId: number): Promise<ChannelNames> {
    const channels = await this.#control
      .selectFrom("channels")
      .select("name")
      .where("projectId", "=", projectId)
      .execute();
    return new ChannelNames(channels.map(({ name }) => name));
  }
}

function isNew({ names }: ChannelNames, body: unknown): boolean {
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
