import {
  closeSync,
  existsSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { defineCommand } from "citty";
import { readConfig } from "../config/config.ts";
import { createPrivateFile } from "../storage/private-file.ts";
import { databaseFile, runningProcess } from "../storage/sqlite/directory.ts";
import { lineOf } from "../storage/sqlite/salvage/lines.ts";
import { PageFile } from "../storage/sqlite/salvage/page-file.ts";
import {
  type MissingRange,
  rowsIn,
  type Survey,
  type SurveyedProject,
  survey,
} from "../storage/sqlite/salvage/survey.ts";
import { requireSqlite } from "./backup.ts";
import { onBrokenPipe, printLine, printMessage, write } from "./output.ts";
import { ArgumentError, failCommand, UsageError } from "./with-store.ts";

/** The text that is written at a time. */
const writeCharacters = 65_536;
/** Ranges of time that are printed. All of them are in the JSON. */
const printedRanges = 20;

export const salvageCommand = defineCommand({
  meta: {
    name: "salvage",
    description:
      "Write what can be read of a damaged database, as lines that import takes. Exits with 0 if nothing is missing, 3 if something is",
  },
  args: {
    file: {
      type: "positional",
      required: true,
      description:
        "Gets channels, users with their properties and IDs, and events; of several projects, a file NAME.PROJECT.ndjson each; - for standard output",
      valueHint: "FILE",
    },
    database: {
      type: "string",
      description: "The damaged file, with its -wal beside it (default: tidings.db of the data directory)",
      valueHint: "PATH",
    },
    project: { type: "string", description: "Only this project, by slug or number", valueHint: "P" },
    force: { type: "boolean", description: "Replace the file if it exists" },
    json: { type: "boolean", description: "Print what was written and what is missing as JSON" },
  },
  async run({ args }) {
    onBrokenPipe(() => process.exit(0));
    try {
      process.exitCode = await salvage(args);
    } catch (error) {
      process.exitCode = failCommand(error);
    }
  },
});

type Args = {
  file: string;
  database?: string | undefined;
  project?: string | undefined;
  force?: boolean | undefined;
  json?: boolean | undefined;
};

/** Returns the exit code: 3 if something is missing. */
async function salvage(args: Args): Promise<0 | 3> {
  const named = args.database ?? databaseOf();
  if (!statSync(named, { throwIfNoEntry: false })?.isFile())
    throw new UsageError(`There is no file ${named}.`);
  // The log and the lock are beside the file that a link leads to.
  const path = realpathSync(named);
  const user = runningProcess(dirname(path));
  if (user !== null) throw new UsageError(`${user} is using ${path}. Stop the server first, then try again.`);
  if (args.file === "-" && args.json) throw new ArgumentError("--json needs a file: the lines are JSON too.");
  const file = new PageFile(path);
  try {
    const found = survey(file);
    const projects = chosen(found.projects, args.project);
    if (projects.length === 0)
      throw new UsageError(`${path} has no event, user or channel of Tidings that can be read.`);
    const outputs =
      args.file === "-" ? standardOutput(projects) : files(args.file, projects, path, args.force);
    await writeLines(file, projects, outputs);
    for (const { close } of outputs.values()) close();
    if (args.json) await printLine(JSON.stringify(summaryOf(found, projects, outputs)));
    else tell(found, projects, outputs);
    return isComplete(found, projects) ? 0 : 3;
  } finally {
    file.close();
  }
}

function databaseOf(): string {
  const config = readConfig();
  requireSqlite(config, "Salvage is for the database in the data directory: name one with --database.");
  return databaseFile(config.dataDirectory);
}

function chosen(projects: SurveyedProject[], name: string | undefined): SurveyedProject[] {
  if (name === undefined) return projects;
  const project = projects.find(({ id, slug }) => name === (slug ?? String(id)) || name === String(id));
  if (!project)
    throw new ArgumentError(
      `There is nothing of a project ${name}. There is something of: ${projects.map(nameOf).join(", ")}.`,
    );
  return [project];
}

function nameOf({ id, slug }: SurveyedProject): string {
  return slug ?? String(id);
}

type Output = {
  /** The file's name; null for standard output. */
  name: string | null;
  write: (text: string) => Promise<void> | void;
  /** Gives the file its name. */
  close: () => void;
};

function standardOutput(projects: SurveyedProject[]): Map<number, Output> {
  const [project, ...others] = projects;
  if (others.length > 0)
    throw new ArgumentError(
      `Choose one of the projects with --project, or name a file: ${projects.map(nameOf).join(", ")}.`,
    );
  return new Map([[project!.id, { name: null, write, close() {} }]]);
}

function files(
  file: string,
  projects: SurveyedProject[],
  database: string,
  isForced = false,
): Map<number, Output> {
  const names = new Map(
    projects.map((project) => [project.id, projects.length === 1 ? file : withProject(file, project)]),
  );
  for (const name of names.values())
    if ([name, partialOf(name)].some((each) => isOneOf(each, [database, `${database}-wal`])))
      throw new UsageError(`${name} would replace the damaged database. Name another file.`);
  const existing = [...names.values()].filter((name) => existsSync(name));
  if (existing.length > 0 && !isForced)
    throw new ArgumentError(`${existing.join(", ")} exists already. Add --force to replace it.`);
  return new Map([...names].map(([id, name]) => [id, fileOutput(name)]));
}

function withProject(file: string, project: SurveyedProject): string {
  const end = /\.[^./]+$/.exec(file)?.[0] ?? "";
  return `${file.slice(0, file.length - end.length)}.${nameOf(project)}${end}`;
}

function isOneOf(path: string, files: readonly string[]): boolean {
  return existsSync(path) && files.includes(realpathSync(path));
}

function partialOf(name: string): string {
  return `${name}.partial`;
}

/** A file has its name only once it is complete. */
function fileOutput(name: string): Output {
  const partial = partialOf(name);
  createPrivateFile(partial);
  const descriptor = openSync(partial, "w");
  process.once("exit", () => rmSync(partial, { force: true }));
  return {
    name,
    write: (text) => {
      // All of it or an error: on a full disk, `writeSync` writes the beginning.
      writeFileSync(descriptor, text);
    },
    close() {
      closeSync(descriptor);
      renameSync(partial, name);
    },
  };
}

async function writeLines(
  file: PageFile,
  projects: SurveyedProject[],
  outputs: Map<number, Output>,
): Promise<void> {
  for (const { id, channels } of projects)
    for (const channel of channels)
      await outputs.get(id)!.write(`${JSON.stringify({ type: "channel", ...channel })}\n`);
  const waiting = new Map(projects.map(({ id }) => [id, ""]));
  for (const row of rowsIn(file)) {
    const line = row && lineOf(row);
    if (!line) continue;
    const { projectId, text: own } = line;
    const before = waiting.get(projectId);
    if (before === undefined) continue;
    const text = `${before}${own}\n`;
    const isEnough = text.length >= writeCharacters;
    waiting.set(projectId, isEnough ? "" : text);
    if (isEnough) await outputs.get(projectId)!.write(text);
  }
  for (const [id, text] of waiting) await outputs.get(id)!.write(text);
}

function isComplete(
  { damagedRows, damagedFrames, lostRanges }: Survey,
  projects: SurveyedProject[],
): boolean {
  return (
    damagedRows + damagedFrames + lostRanges.length === 0 &&
    projects.every(({ missing, isAtLeast }) => missing === 0 && !isAtLeast)
  );
}

function summaryOf(
  { damagedRows, damagedFrames, lostRanges }: Survey,
  projects: SurveyedProject[],
  outputs: Map<number, Output>,
) {
  return {
    projects: projects.map((project) => ({
      project: project.slug,
      projectId: project.id,
      file: outputs.get(project.id)!.name,
      events: project.events,
      users: project.users,
      joinedIds: project.joinedIds,
      channels: project.channels.length,
      missing: { events: project.missing, isAtLeast: project.isAtLeast, ranges: project.ranges.map(timesOf) },
    })),
    damagedRows,
    damagedLogPages: damagedFrames,
    lostRanges: lostRanges.map(timesOf),
  };
}

function tell(found: Survey, projects: SurveyedProject[], outputs: Map<number, Output>): void {
  for (const project of projects) {
    const { events, users, joinedIds, channels, missing, isAtLeast, ranges } = project;
    const joined = joinedIds > 0 ? `, ${counted(joinedIds, "joined ID")}` : "";
    printMessage(
      `${nameOf(project)}: wrote ${counted(events, "event")}, ${counted(users, "user")}${joined} and ${counted(channels.length, "channel")} to ${outputs.get(project.id)!.name ?? "standard output"}.`,
    );
    if (missing === null) printMessage("  Nothing that can be read tells how many events there were.");
    else if (missing > 0)
      printMessage(`  ${isAtLeast ? "At least " : ""}${counted(missing, "event")} missing.`);
    else if (isAtLeast)
      printMessage("  No event is known to be missing, but what counts them is damaged too.");
    tellRanges(ranges, "  missing between");
  }
  if (found.lostRanges.length > 0) {
    printMessage("Pages of events that can't be read, of any project:");
    tellRanges(found.lostRanges, "  between");
  }
  if (found.damagedRows > 0) printMessage(`Damaged rows on pages that can be read: ${found.damagedRows}.`);
  if (found.damagedFrames > 0) printMessage(`Damaged pages in the log: ${found.damagedFrames}.`);
}

function tellRanges(ranges: MissingRange[], start: string): void {
  for (const range of ranges.slice(0, printedRanges)) {
    const { from, to, events } = timesOf(range);
    const count = events === null ? "" : `: ${counted(events, "event")}`;
    printMessage(`${start} ${from ?? "the beginning"} and ${to ?? "the end"}${count}`);
  }
  if (ranges.length > printedRanges) printMessage(`  … and ${ranges.length - printedRanges} more (--json).`);
}

function timesOf({ fromMs, toMs, events }: MissingRange) {
  const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return { from: time(fromMs), to: time(toMs), events };
}

function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
