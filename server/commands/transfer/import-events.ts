import { convertRecord } from "../../transfer/convert-record.ts";
import type { Convert, Converted } from "../../transfer/formats.ts";
import type { SourceRecord } from "../../transfer/source-record.ts";
import { UserChanges } from "../../transfer/user-changes.ts";
import type { EventSink } from "../event-sink.ts";
import { AnswerError, type Source } from "../source.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { SettingsImport } from "./settings-import.ts";

/** Records that are sent together, and how many such batches are on their way. */
const batchRecords = 1_000;
const batchesAtOnce = 2;

export type Rejection = { line: number; detail: string; text: string };
export type ImportTotals = {
  records: number;
  accepted: number;
  /** Accepted events that were there before. */
  duplicates: number;
  rejected: number;
  users: number;
};

type Options = {
  source: Source;
  records: AsyncIterable<SourceRecord[]>;
  convert: Convert;
  /** The channel of events that name none. */
  channel: string | undefined;
  checkpoint: Checkpoint;
  onRejected: (rejections: Rejection[]) => void;
  /** Called with the reasons for which IDs were not joined, and groups not saved. */
  onRefused?: (reasons: string[]) => void;
  onDone: (records: number) => void;
};

/**
 * Records what a file has, in batches in its order, several on their way at once. The checkpoint follows what is stored.
 * Events keep their IDs, so what is sent twice is recorded once.
 */
export async function importEvents(options: Options): Promise<ImportTotals> {
  const { source, records, convert, channel } = options;
  const settings = new SettingsImport(source);
  const batches = new Batches(source.sink(), options);
  const { done } = batches;
  for await (const some of records) {
    for (const record of some) {
      if (record.number <= done) continue;
      const { event, user, joinings, groups, setting, fault } = convertRecord(record, convert, channel);
      const settingFault = setting && (await faultOf(() => settings.add(setting)));
      const why = fault ?? settingFault;
      await batches.add({
        record,
        ...(event && { event }),
        ...(user && { user }),
        ...(joinings && { joinings }),
        ...(groups && { groups }),
        ...(why !== undefined && { fault: why }),
      });
    }
  }
  return batches.end();
}

/** What the server says against a setting, if it rejects it. */
async function faultOf(add: () => Promise<void>): Promise<string | undefined> {
  try {
    await add();
    return undefined;
  } catch (error) {
    if (error instanceof AnswerError && [409, 422].includes(error.status)) return error.message;
    throw error;
  }
}

type Item = { record: SourceRecord } & Pick<Converted, "event" | "user" | "joinings" | "groups" | "fault">;
type Outcome = Pick<ImportTotals, "records" | "accepted" | "duplicates"> & { rejections: Rejection[] };

/** Sends records in batches, and reports their outcomes in order. */
class Batches {
  readonly #sink: EventSink;
  readonly #options: Pick<Options, "checkpoint" | "onRejected" | "onRefused" | "onDone">;
  readonly #totals: Omit<ImportTotals, "users">;
  readonly #users = new UserChanges();
  readonly #underWay: Promise<Outcome>[] = [];
  #items: Item[] = [];

  constructor(sink: EventSink, options: Pick<Options, "checkpoint" | "onRejected" | "onRefused" | "onDone">) {
    this.#sink = sink;
    this.#options = options;
    this.#totals = options.checkpoint.read();
  }

  /** How many records were done before, by an import that was stopped. */
  get done(): number {
    return this.#totals.records;
  }

  async add(item: Item): Promise<void> {
    if (item.user) this.#users.add(item.user);
    if (item.joinings) this.#users.join(item.joinings, item.record.number);
    if (item.groups) this.#users.save(item.groups, item.record.number);
    this.#items.push(item);
    if (this.#items.length >= batchRecords) await this.#send();
  }

  /** Sends the rest, and waits for everything. */
  async end(): Promise<ImportTotals> {
    if (this.#items.length > 0) await this.#send();
    while (this.#underWay.length > 0) await this.#finishFirst();
    return { ...this.#totals, users: this.#users.count };
  }

  async #send(): Promise<void> {
    // Before the events: the checkpoint counts both.
    const changes = this.#users.take();
    if (changes.length > 0) await this.#sink.mergeUsers(changes);
    const joinings = this.#users.takeJoinings();
    const groups = this.#users.takeGroups();
    const refused = [
      ...(joinings.length > 0 ? await this.#sink.joinIds(joinings) : []),
      ...(groups.length > 0 ? await this.#sink.saveGroups(groups) : []),
    ];
    if (refused.length > 0) this.#options.onRefused?.(refused);
    const sending = this.#record(this.#items);
    // It is thrown where it is awaited.
    sending.catch(() => {});
    this.#underWay.push(sending);
    this.#items = [];
    if (this.#underWay.length >= batchesAtOnce) await this.#finishFirst();
  }

  async #record(items: readonly Item[]): Promise<Outcome> {
    const events = items.flatMap(({ record, event }) => (event ? [{ record, event }] : []));
    const { details, duplicates } =
      events.length > 0
        ? await this.#sink.record(events.map(({ event }) => event))
        : { details: [], duplicates: 0 };
    const rejections = items.flatMap(({ record, fault }) =>
      fault === undefined ? [] : [rejectionOf(record, fault)],
    );
    let accepted = 0;
    for (const [index, detail] of details.entries()) {
      if (detail === null) accepted++;
      else rejections.push(rejectionOf(events[index]!.record, detail));
    }
    rejections.sort((a, b) => a.line - b.line);
    return { records: items.at(-1)!.record.number, accepted, duplicates, rejections };
  }

  async #finishFirst(): Promise<void> {
    const { checkpoint, onRejected, onDone } = this.#options;
    const { records, accepted, duplicates, rejections } = await this.#underWay.shift()!;
    if (rejections.length > 0) onRejected(rejections);
    onDone(records - this.#totals.records);
    this.#totals.records = records;
    this.#totals.accepted += accepted;
    this.#totals.duplicates += duplicates;
    this.#totals.rejected += rejections.length;
    checkpoint.save(this.#totals);
  }
}

function rejectionOf({ line, text }: SourceRecord, detail: string): Rejection {
  return { line, detail, text };
}
