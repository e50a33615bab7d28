import type { TidingsClient, TrackedEvent } from "../../../client/src/index.ts";
import { TidingsError } from "../../../client/src/index.ts";
import { type CheckedEvent, checkEvent } from "../../event/check-event.ts";
import { convertRecord } from "../../transfer/convert-record.ts";
import type { Convert } from "../../transfer/formats.ts";
import { type UserAccess, UserImport } from "../../transfer/import-users.ts";
import type { SourceRecord } from "../../transfer/read-lines.ts";
import type { UserProperties } from "../../wire/user.ts";
import type { Source } from "../source.ts";
import { UsageError } from "../with-store.ts";
import type { Checkpoint } from "./checkpoint.ts";

/** Records that are sent together, and how many such batches are on their way. */
const batchRecords = 2_000;
const batchesAtOnce = 4;

export type Rejection = { record: number; detail: string; text: string };
export type ImportTotals = { records: number; accepted: number; rejected: number; users: number };

type Options = {
  source: Source;
  records: AsyncIterable<SourceRecord>;
  convert: Convert;
  /** The channel of events that name none. */
  channel: string | undefined;
  checkpoint: Checkpoint;
  onRejected: (rejections: Rejection[]) => void;
  onDone: (records: number) => void;
};

type Ready = { record: SourceRecord; event: TrackedEvent };
type Outcome = { last: number; accepted: number; rejections: Rejection[] };

/**
 * Records what a file has, in batches in its order, several on their way at once. The checkpoint follows what the server
 * has acknowledged. Events keep their IDs, so what is sent twice is recorded once.
 */
export async function importEvents(options: Options): Promise<ImportTotals> {
  const { source, records, convert, channel, checkpoint, onRejected, onDone } = options;
  const client = source.client({ isSilent: true });
  const users = new UserImport(usersOf(source));
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

  let batch: Ready[] = [];
  let rejections: Rejection[] = [];
  let size = 0;
  let last = skip;
  async function send(): Promise<void> {
    // Before the events: the checkpoint counts both.
    await users.flush();
    const sending = sendBatch(client, batch, rejections, last);
    // It is thrown where it is awaited.
    sending.catch(() => {});
    underWay.push(sending);
    [batch, rejections, size] = [[], [], 0];
    if (underWay.length >= batchesAtOnce) await settleFirst();
  }

  for await (const record of records) {
    if (record.number <= skip) continue;
    last = record.number;
    const outcome = prepare(record, convert, channel);
    if ("detail" in outcome) rejections.push(outcome);
    else {
      if (outcome.user) users.add(outcome.user.userId, outcome.user.properties);
      if (outcome.event) batch.push({ record, event: outcome.event });
    }
    if (++size >= batchRecords) await send();
  }
  if (size > 0) await send();
  while (underWay.length > 0) await settleFirst();
  return { ...totals, users: users.count };
}

type Prepared = { event?: TrackedEvent; user?: { userId: string; properties: UserProperties } };

/** Converts and checks a record. */
function prepare(record: SourceRecord, convert: Convert, channel: string | undefined): Prepared | Rejection {
  const { number, text } = record;
  const converted = convertRecord(record, convert, channel, sha256);
  if ("fault" in converted) return { record: number, detail: converted.fault, text };
  const { event, ...user } = converted;
  if (event === undefined) return user;
  const checked = checkEvent(event, Date.now());
  if (Array.isArray(checked)) return { record: number, detail: checked[0]!.detail, text };
  return { ...user, event: trackedOf(checked) };
}

function sha256(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}

function usersOf(source: Source): UserAccess {
  const pathOf = (userId: string) => `/api/users/${encodeURIComponent(userId)}`;
  return {
    async read(userId) {
      try {
        const path = pathOf(userId);
        return (await source.json<{ user: { properties: UserProperties } }>(path)).user.properties;
      } catch (error) {
        if (error instanceof UsageError) return {};
        throw error;
      }
    },
    write: (userId, properties) =>
      source.request(pathOf(userId), { method: "PUT", body: JSON.stringify(properties) }),
  };
}

function trackedOf({ createdAtMs, channel, name, event, ...rest }: CheckedEvent): TrackedEvent {
  return {
    ...rest,
    channel,
    name,
    ...(event !== undefined && { event }),
    ...(createdAtMs !== undefined && { createdAt: createdAtMs }),
  };
}

async function sendBatch(
  client: TidingsClient,
  batch: Ready[],
  rejections: Rejection[],
  last: number,
): Promise<Outcome> {
  const results = await client.trackMany(batch.map(({ event }) => event));
  const all = [...rejections];
  for (const [index, result] of results.entries()) {
    if (result.ok) continue;
    const { error } = result;
    const { record } = batch[index]!;
    if (!(error instanceof TidingsError && error.status === 422)) throw new UsageError(error.message);
    all.push({ record: record.number, detail: error.message, text: record.text });
  }
  return { last, accepted: batch.length - (all.length - rejections.length), rejections: all };
}
