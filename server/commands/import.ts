import { closeSync, openSync, readSync, statSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { defineCommand } from "citty";
import { parse } from "csv-parse";
import { convertColumns } from "../transfer/column-map.ts";
import { converters, type Format, formats } from "../transfer/formats.ts";
import { readCsv } from "../transfer/read-csv.ts";
import { readJson } from "../transfer/read-json.ts";
import { printError, printLine, printMessage } from "./output.ts";
import { sourceArgs, withSource } from "./source.ts";
import { Checkpoint } from "./transfer/checkpoint.ts";
import { checkColumns, parseColumnMap } from "./transfer/column-args.ts";
import { importEvents, type Rejection } from "./transfer/import-events.ts";
import { openInput } from "./transfer/open-input.ts";
import { TransferProgress } from "./transfer/transfer-progress.ts";
import { ArgumentError, UsageError } from "./with-store.ts";

/** Rejected records that are printed. All of them are in the file. */
const printedRejections = 10;
const fingerprintBytes = 65_536;

export const importCommand = defineCommand({
  meta: {
    name: "import",
    description:
      "Record the events of a file. They send no notifications, and importing a file again adds nothing. Continues where it stopped",
  },
  args: {
    file: {
      type: "positional",
      required: true,
      description:
        "Lines of JSON, a JSON array, or CSV, also compressed with gzip or zstd; - for standard input",
      valueHint: "FILE",
    },
    format: {
      type: "enum",
      options: [...formats],
      description: "Source format (default: csv if it is named .csv or .tsv, otherwise tidings)",
    },
    map: {
      type: "string",
      description:
        "Columns of a CSV file, or fields of lines, as FIELD=COLUMN,…: channel, name, userId, createdAt, id, icon, description, event, notify, tags.KEY, and tags=* for all others",
      valueHint: "MAP",
    },
    channel: { type: "string", description: "Channel for events that name none", valueHint: "C" },
    checkpoint: {
      type: "string",
      description: "Remembers how far the import is (default: FILE.checkpoint; none for standard input)",
      valueHint: "PATH",
    },
    rejected: {
      type: "string",
      description:
        "Gets the records that are rejected (default: NAME.rejected.ndjson or .csv, beside the file)",
      valueHint: "PATH",
    },
    json: { type: "boolean", description: "Print the totals as JSON" },
    ...sourceArgs,
  },
  async run({ args }) {
    await withSource(args, ["ingest", "read", "manage"], async (source) => {
      const isStdin = args.file === "-";
      const bytes = isStdin ? null : sizeOf(args.file);
      const isCsv =
        args.format === "csv" || (args.format !== "tidings" && /\.(csv|tsv)(\.gz|\.zst)?$/i.test(args.file));
      const format: Format = args.format ?? (isCsv ? "csv" : "tidings");
      const columns = args.map === undefined ? null : parseColumnMap(args.map);
      const convert = columns === null ? converters[format] : convertColumns(columns);
      const checkpoint = new Checkpoint(args.checkpoint ?? (isStdin ? null : `${args.file}.checkpoint`), {
        input: isStdin ? "-" : fingerprintOf(args.file),
        target: source.id,
      });
      const { records: before } = checkpoint.read();
      if (before > 0) printMessage(`Continuing after ${before.toLocaleString("en")} records.`);

      let bytesRead = 0;
      const input = openInput(args.file, (count) => {
        bytesRead += count;
      });
      let header: string | null = null;
      const records = isCsv
        ? readCsv(input, parse, (names, text) => {
            header = `${text}\n`;
            if (columns !== null) checkColumns(columns, names);
          })
        : readJson(input);
      const rejectedFile = args.rejected ?? rejectedFileOf(isStdin ? "import" : args.file);
      const rejections = new RejectionFile(rejectedFile, before === 0, () => header);
      const progress = new TransferProgress(() => bytes && bytesRead / bytes);
      try {
        const totals = await importEvents({
          source,
          records,
          convert,
          channel: args.channel,
          checkpoint,
          onRejected: (rejected) => rejections.add(rejected),
          onRefused: (reasons) =>
            reasons.slice(0, printedRejections).forEach((reason) => {
              printError(reason);
            }),
          onDone: (count) => progress.add(count),
        });
        checkpoint.remove();
        const seconds = progress.end();
        const { accepted, duplicates, rejected, users } = totals;
        if (args.json)
          await printLine(
            JSON.stringify({ ...totals, rejectedFile: rejected > 0 ? resolve(rejectedFile) : null }),
          );
        const rate = Math.round((totals.records - before) / seconds).toLocaleString("en");
        // A file that takes less is measured with the command's start.
        const atRate = seconds < 1 ? "" : `, ${rate} records a second`;
        const withUsers = users > 0 ? `, properties of ${counted(users, "user")}` : "";
        const known =
          duplicates === 0
            ? ""
            : ` ${counted(duplicates, "event")} ${duplicates === 1 ? "was" : "were"} there already.`;
        printMessage(
          `Imported ${counted(accepted - duplicates, "event")}${withUsers} into ${source.name}${atRate}.${known}`,
        );
        if (rejected === 0) return 0;
        printError(
          `Rejected ${counted(rejected, "record")}, written to ${rejectedFile}: correct them and import that file.`,
        );
        return 3;
      } catch (error) {
        progress.end();
        if (!(error instanceof ArgumentError) && !isStdin)
          printMessage("The import stopped. Run the same command again to continue.");
        throw error;
      } finally {
        rejections.close();
      }
    });
  },
});

/** Keeps rejected records as they were, and prints the reasons of the first ones. */
class RejectionFile {
  readonly #path: string;
  readonly #isNew: boolean;
  readonly #header: () => string | null;
  #descriptor: number | null = null;
  #printed = 0;

  constructor(path: string, isNew: boolean, header: () => string | null) {
    this.#path = path;
    this.#isNew = isNew;
    this.#header = header;
  }

  add(rejections: Rejection[]): void {
    if (this.#descriptor === null) {
      this.#descriptor = openSync(this.#path, this.#isNew ? "w" : "a", 0o600);
      const header = this.#header();
      if (this.#isNew && header !== null) writeFileSync(this.#descriptor, header);
    }
    for (const { line, detail, text } of rejections) {
      // All of it or an error: on a full disk, `writeSync` writes the beginning.
      writeFileSync(this.#descriptor, `${text}\n`);
      if (++this.#printed <= printedRejections) printError(`Line ${line}: ${detail}`);
      if (this.#printed === printedRejections + 1) printError("More records are rejected.");
    }
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor);
  }
}

function sizeOf(file: string): number {
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  if (size === undefined) throw new UsageError(`There is no file ${file}.`);
  return size;
}

/** Tells a file from others by its size and its beginning. */
function fingerprintOf(file: string): string {
  const beginning = Buffer.alloc(fingerprintBytes);
  const descriptor = openSync(file, "r");
  const length = readSync(descriptor, beginning);
  closeSync(descriptor);
  const hash = new Bun.CryptoHasher("sha256").update(beginning.subarray(0, length)).digest("hex");
  return `${sizeOf(file)} ${hash}`;
}

function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** Beside a file, with an ending by which it is imported in the same way. */
function rejectedFileOf(file: string): string {
  const plain = file.replace(/\.(gz|zst)$/i, "");
  const table = /\.(csv|tsv)$/i.exec(plain)?.[0];
  return `${plain.replace(/\.(csv|tsv|ndjson|jsonl|json)$/i, "")}.rejected${table ?? ".ndjson"}`;
}
