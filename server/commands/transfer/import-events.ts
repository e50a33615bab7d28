import { convertRecord } from "../../transfer/convert-record.ts";
import type { Convert } from "../../transfer/formats.ts";
import type { SourceRecord } from "../../transfer/source-record.ts";
import { UserChanges } from "../../transfer/user-changes.ts";
import { AnswerError, type Source } from "../source.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { SettingsImport } from "./settings-lines.ts";

/** Records that are sent together, and how many such batches are on their way. */
const batchRecords = 1_000;
const batchesAtOnce = 2;

export type Rejection = { line: number; detail: string; text: string };
export type ImportTotals = { records: number; accepted: number; rejected: number; users: number };

type Options = {
  source: Source;
  records: AsyncIterable<SourceRecord[]>;
  convert: Convert;
  /** The channel of events that name none. */
  channel: string | undefined;
  checkpoint: Checkpoint;
  onRejected: (rejections: Rejection[]) => void;
  onDone: (records: number) => void;
};

type Outcome = { last: number; accepted: number; rejections: Rejection[] };

/**
 * Records what a file has, in batches in its order, several on their way at once. The checkpoint follows what is stored.
 * Events keep their IDs, so what is sent twice is recorded once.
 */
export async function importEvents(options: Options): Promise<ImportTotals> {
  const { source, records, convert, channel, checkpoint, onRejected, onDone } = options;
  const sink = source.sink();
  const users = new UserChanges();
  const settings = new SettingsImport(source);
  const totals = checkpoint.read();
  const skip = totals.records;
  const underWay: Promise<Outcome>[] = [];

  async function settleFirst(): Promise<void> {
    const { last, accepted, rejections } = await underWay.shift()!;
    if (rejections.length > 0) onRejected(rejections);
    onDone(last - totals.records);
    totals.records = last;
    totals.accepted += accepted;
    totals.rejected += rejections.length;
    checkpoint.save(totals);
  }

  let sources: SourceRecord[] = [];
  let events: Record<string, unknown>[] = [];
  let rejections: Rejection[] = [];
  let size = 0;
  let last = skip;
  async function send(): Promise<void> {
    // Before the events: the checkpoint counts both.
    const changes = users.take();
    if (changes.length > 0) await sink.mergeUsers(changes);
    const sending = record(sources, events, rejections, last);
    // It is thrown where it is awaited.
    sending.catch(() => {});
    underWay.push(sending);
    [sources, events, rejections, size] = [[], [], [], 0];
    if (underWay.length >= batchesAtOnce) await settleFirst();
  }

  async function record(
    sent: SourceRecord[],
    bodies: Record<string, unknown>[],
    unsent: Rejection[],
    last: number,
  ): Promise<Outcome> {
    const details = bodies.length > 0 ? await sink.record(bodies) : [];
    const rejected = [...unsent];
    for (const [index, detail] of details.entries()) {
      const { line, text } = sent[index]!;
      if (detail !== null) rejected.push({ line, detail, text });
    }
    rejected.sort((a, b) => a.line - b.line);
    return { last, accepted: bodies.length + unsent.length - rejected.length, rejections: rejected };
  }

  for await (const some of records) {
    for (const each of some) {
      if (each.number <= skip) continue;
      last = each.number;
      const { event, user, setting, fault } = convertRecord(each, convert, channel);
      if (fault !== undefined) rejections.push({ line: each.line, detail: fault, text: each.text });
      if (user) users.add(user);
      if (event) {
        sources.push(each);
        events.push(event);
      }
      if (setting) {
        try {
          await settings.add(setting);
        } catch (error) {
          if (!(error instanceof AnswerError && [409, 422].includes(error.status))) throw error;
          rejections.push({ line: each.line, detail: error.message, text: each.text });
        }
      }
      if (++size >= batchRecords) await send();
    }
  }
  if (size > 0) await send();
  while (underWay.length > 0) await settleFirst();
  return { ...totals, users: users.count };
}
