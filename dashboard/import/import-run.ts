import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { convertRecord } from "../../server/transfer/convert-record.ts";
import { UserImport } from "../../server/transfer/import-users.ts";
import type { SourceRecord } from "../../server/transfer/read-lines.ts";
import type { LinesResponse } from "../../server/wire/batch.ts";
import type { User } from "../../server/wire/user.ts";
import { ApiError, api, errorMessage } from "../api.ts";
import { sidebarQuery } from "../channels/channels.ts";
import { refresh } from "../queries.ts";
import { rejectedGroupsQuery } from "../rejected/rejected-count.ts";
import { saveProperties } from "../users/users.ts";
import { converterOf, type ImportPlan, recordsOf } from "./import-file.ts";
import { type Import, type RejectedRecord, showImport } from "./imports.ts";
import { sendLines } from "./send-lines.ts";

/** Events sent together: at most so many, and about so many characters; and how many such batches are on their way. */
const batchLines = 500;
const batchCharacters = 400_000;
const batchesAtOnce = 2;
/** Rejected records that are listed. All of them are in Rejected events. */
const listedRejections = 50;

export const textHash = (text: string): string => bytesToHex(sha256(utf8ToBytes(text)));

type Line = { number: number; text: string; fault?: string };
type Outcome = Pick<LinesResponse, "accepted" | "duplicates" | "rejected"> & { rejections: RejectedRecord[] };

/** Imports a file. Its progress is shown on all pages, and it goes on while this tab is open. */
export async function importFile(file: File, plan: ImportPlan, project: string): Promise<void> {
  const stopped = new AbortController();
  let state: Import = {
    project,
    fileName: file.name,
    fileBytes: file.size,
    readBytes: 0,
    state: "running",
    recorded: 0,
    duplicates: 0,
    rejected: 0,
    users: 0,
    rejections: [],
    stop: () => stopped.abort(),
  };
  const show = (changed: Partial<Import>) => {
    state = { ...state, ...changed };
    showImport(state);
  };
  show({});
  const confirmLeaving = (event: BeforeUnloadEvent) => event.preventDefault();
  window.addEventListener("beforeunload", confirmLeaving);
  try {
    await run(file, plan, project, stopped.signal, (outcome, changed) =>
      show({
        ...changed,
        recorded: state.recorded + outcome.accepted - outcome.duplicates,
        duplicates: state.duplicates + outcome.duplicates,
        rejected: state.rejected + outcome.rejected,
        rejections: [...state.rejections, ...outcome.rejections].slice(0, listedRejections),
      }),
    );
    show({ state: "done" });
  } catch (error) {
    if (stopped.signal.aborted) show({ state: "stopped" });
    else show({ state: "failed", failure: errorMessage(error) });
  } finally {
    window.removeEventListener("beforeunload", confirmLeaving);
    await Promise.all([
      refresh(sidebarQuery(project).queryKey),
      refresh(rejectedGroupsQuery(project).queryKey),
    ]).catch(() => {});
  }
}

async function run(
  file: File,
  plan: ImportPlan,
  project: string,
  signal: AbortSignal,
  onOutcome: (outcome: Outcome, changed: Pick<Import, "readBytes" | "users">) => void,
): Promise<void> {
  const convert = converterOf(plan);
  const users = new UserImport({
    read: (userId) => readProperties(project, userId),
    write: (userId, properties) => saveProperties(project, userId, properties),
  });
  const underWay: { outcome: Promise<Outcome>; readBytes: number }[] = [];
  let readBytes = 0;
  let batch: Line[] = [];
  let characters = 0;

  async function settleFirst(): Promise<void> {
    const { outcome, readBytes } = underWay.shift()!;
    onOutcome(await outcome, { readBytes, users: users.count });
  }

  async function send(): Promise<void> {
    await users.flush();
    const outcome = sendBatch(project, batch, signal);
    // It is thrown where it is awaited.
    outcome.catch(() => {});
    underWay.push({ outcome, readBytes });
    [batch, characters] = [[], 0];
    if (underWay.length >= batchesAtOnce) await settleFirst();
  }

  const records = recordsOf(file, (count) => {
    readBytes += count;
  });
  for await (const record of records) {
    signal.throwIfAborted();
    const converted = convertRecord(record, convert, plan.channel || undefined, textHash);
    if ("fault" in converted) batch.push(faultyLine(record, converted.fault));
    else {
      if (converted.user) users.add(converted.user.userId, converted.user.properties);
      if (converted.event) batch.push({ number: record.number, text: JSON.stringify(converted.event) });
    }
    characters += batch.at(-1)?.text.length ?? 0;
    if (batch.length >= batchLines || characters >= batchCharacters) await send();
  }
  if (batch.length > 0) await send();
  await users.flush();
  while (underWay.length > 0) await settleFirst();
}

/** The server rejects and keeps it. A row of a table is sent as a text, which is one line. */
function faultyLine({ number, text, value }: SourceRecord, fault: string): Line {
  const line = text.trim();
  const isRow = typeof value === "object" && value !== null && !line.startsWith("[");
  return { number, fault, text: isRow ? JSON.stringify(line) : line };
}

async function sendBatch(project: string, lines: Line[], signal: AbortSignal): Promise<Outcome> {
  const { accepted, duplicates, rejected, rejections } = await sendLines(
    project,
    lines.map(({ text }) => text),
    signal,
  );
  return {
    accepted,
    duplicates,
    rejected,
    rejections: rejections.map(({ line, detail }) => {
      const { number, fault } = lines[line - 1]!;
      return { record: number, detail: fault ?? detail ?? "It was rejected." };
    }),
  };
}

async function readProperties(project: string, userId: string): Promise<User["properties"]> {
  try {
    const path = `/api/users/${encodeURIComponent(userId)}`;
    return (await api<{ user: User }>(path, { query: { project } })).user.properties;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return {};
    throw error;
  }
}
