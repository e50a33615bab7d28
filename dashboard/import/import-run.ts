import type { LinesResponse } from "../../server/schemas/batch.ts";
import { convertRecord } from "../../server/transfer/convert-record.ts";
import type { SourceRecord } from "../../server/transfer/source-record.ts";
import { UserChanges } from "../../server/transfer/user-changes.ts";
import { errorMessage } from "../api.ts";
import { sidebarQuery } from "../channels/channels.ts";
import { refreshConnections } from "../connections/connections.ts";
import { rejectedGroupsQuery } from "../rejected/rejected-groups.ts";
import { converterOf, type ImportPlan, recordsOf } from "./import-file.ts";
import { type Import, type RejectedRecord, showImport } from "./imports.ts";
import { joinIds, saveGroups, saveUsers } from "./save-users.ts";
import { sendLines } from "./send-lines.ts";

/** Events sent together: at most so many, and about so many characters; and how many such batches are on their way. */
const batchLines = 500;
const batchCharacters = 400_000;
const batchesAtOnce = 2;
/** Rejected records that are listed. All of them are in Rejected events. */
const listedRejections = 50;

export const faultOfSetting =
  "Only the command line imports channels, boards and rules: tidings import FILE.";

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
    // Pages show it if their queries fail. The import's outcome is known.
    await refreshConnections(
      project,
      sidebarQuery(project).queryKey,
      rejectedGroupsQuery(project).queryKey,
    ).catch(() => {});
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
  const users = new UserChanges();
  const underWay: { outcome: Promise<Outcome>; readBytes: number }[] = [];
  let readBytes = 0;
  let batch: Line[] = [];
  let unsent: RejectedRecord[] = [];
  let size = 0;
  let characters = 0;

  async function settleFirst(): Promise<void> {
    const { outcome, readBytes } = underWay.shift()!;
    onOutcome(await outcome, { readBytes, users: users.count });
  }

  async function send(): Promise<void> {
    await saveUsers(project, users.take());
    unsent.push(...(await joinIds(project, users.takeJoinings())));
    unsent.push(...(await saveGroups(project, users.takeGroups())));
    const outcome = sendBatch(project, batch, unsent, signal);
    // It is thrown where it is awaited.
    outcome.catch(() => {});
    underWay.push({ outcome, readBytes });
    [batch, unsent, size, characters] = [[], [], 0, 0];
    if (underWay.length >= batchesAtOnce) await settleFirst();
  }

  const records = recordsOf(file, (count) => {
    readBytes += count;
  });
  for await (const some of records) {
    for (const record of some) {
      signal.throwIfAborted();
      const { event, user, joinings, groups, setting, fault } = convertRecord(
        record,
        convert,
        plan.channel || undefined,
      );
      const { number } = record;
      if (fault !== undefined) batch.push(faultyLine(record, fault));
      if (user) users.add(user);
      if (joinings) users.join(joinings, number);
      if (groups) users.save(groups, number);
      if (event) batch.push({ number, text: JSON.stringify(event) });
      if (setting) unsent.push({ record: number, detail: faultOfSetting });
      characters += batch.at(-1)?.text.length ?? 0;
      if (++size >= batchLines || characters >= batchCharacters) await send();
    }
  }
  if (size > 0) await send();
  while (underWay.length > 0) await settleFirst();
}

/** The server rejects and keeps it. A row of a table is sent as a text, which is one line. */
function faultyLine({ number, text, value }: SourceRecord, fault: string): Line {
  const line = text.trim();
  const isRow = typeof value === "object" && value !== null && !line.startsWith("[");
  return { number, fault, text: isRow ? JSON.stringify(line) : line };
}

async function sendBatch(
  project: string,
  lines: Line[],
  unsent: RejectedRecord[],
  signal: AbortSignal,
): Promise<Outcome> {
  if (lines.length === 0) return { accepted: 0, duplicates: 0, rejected: unsent.length, rejections: unsent };
  const { accepted, duplicates, rejected, rejections } = await sendLines(
    project,
    lines.map(({ text }) => text),
    signal,
  );
  return {
    accepted,
    duplicates,
    rejected: rejected + unsent.length,
    rejections: [
      ...unsent,
      ...rejections.map(({ line, detail }) => {
        const { number, fault } = lines[line - 1]!;
        return { record: number, detail: fault ?? detail ?? "It was rejected." };
      }),
    ],
  };
}
