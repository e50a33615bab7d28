/** The reader: a thread with a read-only connection, so that no query blocks the HTTP thread. */
import type { Cursor } from "../../event/filter.ts";
import type { ArrivalStamp } from "../../event/id.ts";
import { activity } from "../analysis/activity.ts";
import type { ActivityQuery } from "../analysis/activity-queries.ts";
import { countedUsers } from "../analysis/counted-users.ts";
import { funnel } from "../analysis/funnel.ts";
import { measure } from "../analysis/measure.ts";
import type { PathsQuery } from "../analysis/path-queries.ts";
import { paths } from "../analysis/paths.ts";
import { createReadPeople } from "../analysis/person-hashes.ts";
import type {
  CountedUsersQuery,
  FunnelQuery,
  MeasureQuery,
  RetentionQuery,
  UsersWithQuery,
  Watch,
} from "../analysis/queries.ts";
import { retention } from "../analysis/retention.ts";
import { type SessionsQuery, sessions } from "../analysis/sessions.ts";
import { TooLargeError, type TooMany } from "../analysis/too-large.ts";
import { usersWith } from "../analysis/users-with.ts";
import { createCount } from "../count.ts";
import type {
  ArrivedLaterQuery,
  CountQuery,
  EventQuery,
  FoundEvent,
  KnownTexts,
  LateQuery,
  NewerQuery,
  Removal,
  UserQuery,
  UserTermsQuery,
} from "../event-queries.ts";
import { createBlocks } from "./blocks.ts";
import { createBodies } from "./bodies.ts";
import { createBuildBlocks } from "./build-blocks.ts";
import { createCountSource } from "./count.ts";
import { createCountNewer } from "./count-newer.ts";
import { createCountRemovable, createFindRemovable } from "./delete-events.ts";
import { createIndexedTexts } from "./indexed-texts.ts";
import { createLateEvents } from "./late-events.ts";
import { databaseFile, openForReading } from "./open.ts";
import { peopleSource } from "./people.ts";
import { createRead } from "./read.ts";
import { createReadGroups } from "./read-groups.ts";
import { createReadProperty } from "./read-property.ts";
import { createScan } from "./scan.ts";
import { startingWith } from "./starting-with.ts";
import { lowerPriority } from "./threads.ts";
import { createUsers } from "./users.ts";
import { createUsersMatching } from "./users-matching.ts";
import { openVocabulary } from "./vocabulary.ts";
import type { BlockStep } from "./write-blocks.ts";

declare const self: Worker & {
  onmessage: (message: MessageEvent<ReaderMessage>) => void;
};

/** A request, or that nobody waits for an earlier one any more. */
export type ReaderMessage = { id: number; request: ReaderRequest } | { id: number; cancelled: true };

export type ReaderRequest =
  | { kind: "page"; query: EventQuery; limit: number }
  | { kind: "chunk"; query: EventQuery; limit: number }
  | { kind: "find"; projectId: number; id: string }
  | { kind: "arrivedAfter"; projectId: number; stamp: ArrivalStamp; limit: number }
  | { kind: "startingWith"; projectId: number; texts: KnownTexts; prefix: string; limit: number }
  | { kind: "count"; query: CountQuery }
  | { kind: "countNewer"; query: NewerQuery }
  | { kind: "lateEvents"; query: LateQuery }
  | { kind: "arrivedLater"; query: ArrivedLaterQuery }
  | { kind: "users"; query: UserQuery; limit: number }
  | { kind: "usersMatching"; query: UserTermsQuery; limit: number }
  | { kind: "measure"; query: MeasureQuery }
  | { kind: "funnel"; query: FunnelQuery }
  | { kind: "retention"; query: RetentionQuery }
  | { kind: "paths"; query: PathsQuery }
  | { kind: "activity"; query: ActivityQuery }
  | { kind: "countedUsers"; query: CountedUsersQuery }
  | { kind: "sessions"; query: SessionsQuery }
  | { kind: "usersWith"; query: UsersWithQuery }
  | { kind: "countRemovable"; removal: Removal }
  | { kind: "findRemovable"; removal: Removal; after: FoundEvent | null; limit: number }
  | { kind: "nextBuildStep"; isNew: boolean; nowMs: number }
  | { kind: "ping" }
  | { kind: "lastArrival" }
  | { kind: "close" };

/** The next step of building blocks, for the writer; a null step is a pause. Null at the end. */
export type BuildStep = { step: BlockStep | null } | null;

export type ReaderAnswer = { id: number } & (
  | { result: unknown }
  | { progress: number }
  | { tooMany: TooMany }
  | { code: string; message: string }
);

/** The result of `chunk`: events in the query's format, as UTF-8. */
export type Chunk = { bytes: Uint8Array<ArrayBuffer>; next: Cursor | null };

/**
 * The reader runs at lower priority than the threads that record (setpriority(2)). Complete listings then delay
 * arriving events half as much, and under the heaviest load a page takes a fifth longer.
 */
const niceness = 5;
/** Between two reports of progress. */
const progressMs = 100;

const [dataDirectory, blockEvents] = process.argv.slice(-2) as [string, string];
const database = openForReading(databaseFile(dataDirectory));
const vocabulary = openVocabulary(database);
const bodies = createBodies(database);
const texts = createIndexedTexts(database, vocabulary, bodies);
const blocks = createBlocks(database);
const read = createRead(database, vocabulary, blocks, bodies);
const count = createCount(createCountSource(database, vocabulary, texts, blocks, bodies));
const countNewer = createCountNewer(database);
const late = createLateEvents(database, bodies);
const sources = {
  scan: createScan(database, vocabulary, blocks, bodies),
  readPeople: createReadPeople(peopleSource(database)),
  readProperty: createReadProperty(database),
  readGroups: createReadGroups(database),
};
const users = createUsers(database, texts);
const usersMatching = createUsersMatching(database);
const countRemovable = createCountRemovable(database);
const findRemovable = createFindRemovable(database);
const buildBlocks = createBuildBlocks(database, Number(blockEvents), bodies);
const encoder = new TextEncoder();

lowerPriority(niceness);

let building: ReturnType<typeof buildBlocks> | null = null;

/** @param isNew - drops the steps left of an earlier build */
function nextBuildStep(isNew: boolean, nowMs: number): BuildStep {
  if (isNew) building = null;
  building ??= buildBlocks(nowMs);
  const next = building.next();
  if (!next.done) return { step: next.value };
  building = null;
  return null;
}

function answer(request: ReaderRequest, watch: () => Watch): unknown {
  switch (request.kind) {
    case "page":
      return read.page(request.query, request.limit);
    case "chunk": {
      const { text, next } = read.chunk(request.query, request.limit);
      return { bytes: encoder.encode(text), next } satisfies Chunk;
    }
    case "find":
      return read.find(request.projectId, request.id);
    case "arrivedAfter":
      return read.arrivedAfter(request.projectId, request.stamp, request.limit);
    case "startingWith":
      return startingWith(vocabulary, request.projectId, request.texts, request.prefix, request.limit);
    case "count":
      return count(request.query, watch().signal);
    case "countNewer":
      return countNewer(request.query);
    case "lateEvents":
      return late.lateEvents(request.query);
    case "arrivedLater":
      return late.arrivedLater(request.query);
    case "users":
      return users(request.query, request.limit, watch().signal);
    case "usersMatching":
      return usersMatching(request.query, request.limit, watch().signal);
    case "measure":
      return measure(sources, request.query, watch());
    case "funnel":
      return funnel(sources, request.query, watch());
    case "retention":
      return retention(sources, request.query, watch());
    case "paths":
      return paths(sources, request.query, watch());
    case "activity":
      return activity(sources, request.query, watch());
    case "countedUsers":
      return countedUsers(sources, request.query, watch());
    case "sessions":
      return sessions(sources, request.query, watch());
    case "usersWith":
      return usersWith(sources, request.query, watch());
    case "countRemovable":
      return countRemovable(request.removal);
    case "findRemovable":
      return findRemovable(request.removal, request.after, request.limit);
    case "nextBuildStep":
      return nextBuildStep(request.isNew, request.nowMs);
    case "ping":
      return read.ping();
    case "lastArrival":
      return read.lastArrival();
    case "close":
      database.close();
      return null;
  }
}

/** The counts, searches for users and analyses in progress. */
const running = new Map<number, AbortController>();

/** Lets one of these be cancelled, and reports its progress. */
function watchOf(id: number): Watch {
  const controller = new AbortController();
  running.set(id, controller);
  let reportedAt = performance.now();
  return {
    signal: controller.signal,
    onProgress(progress) {
      if (performance.now() < reportedAt + progressMs) return;
      reportedAt = performance.now();
      self.postMessage({ id, progress } satisfies ReaderAnswer);
    },
  };
}

self.onmessage = async ({ data }) => {
  const { id } = data;
  if ("cancelled" in data) {
    running.get(id)?.abort();
    return;
  }
  const { request } = data;
  try {
    const result = await answer(request, () => watchOf(id));
    const transfer = request.kind === "chunk" ? [(result as Chunk).bytes.buffer] : [];
    self.postMessage({ id, result } satisfies ReaderAnswer, transfer);
  } catch (error) {
    if (error instanceof TooLargeError) {
      self.postMessage({ id, tooMany: error.of } satisfies ReaderAnswer);
      return;
    }
    const { code, message } = error as { code?: string; message: string };
    self.postMessage({ id, code: code ?? "SQLITE_ERROR", message } satisfies ReaderAnswer);
  } finally {
    running.delete(id);
  }
};
self.postMessage({ id: 0, result: null } satisfies ReaderAnswer);
