import { createWriteStream, existsSync, renameSync, rmSync } from "node:fs";
import { extname } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip, createZstdCompress } from "node:zlib";
import { defineCommand } from "citty";
import type { Event } from "../event/event.ts";
import type { Channel } from "../schemas/channel.ts";
import { createPrivateFile } from "../storage/private-file.ts";
import { readJson } from "../transfer/read-json.ts";
import { filterArgs, filterQuery } from "./filter-args.ts";
import { printLine, printMessage, write } from "./output.ts";
import { type Source, sourceArgs, withSource } from "./source.ts";
import { ParquetFile } from "./transfer/parquet-file.ts";
import { settingsLines } from "./transfer/settings-lines.ts";
import { TransferProgress } from "./transfer/transfer-progress.ts";
import { ArgumentError } from "./with-store.ts";

const lineFeed = "\n".charCodeAt(0);
const quote = '"'.charCodeAt(0);

type Format = "ndjson" | "csv" | "parquet";

export const exportCommand = defineCommand({
  meta: { name: "export", description: "Write events to a file, oldest first" },
  args: {
    file: {
      type: "positional",
      required: true,
      description:
        "Ends in .ndjson, .jsonl, .csv or .parquet; .gz or .zst compresses all but the last; - for standard output",
      valueHint: "FILE",
    },
    all: {
      type: "boolean",
      description:
        "Also write channels, cohorts, boards, annotations, rules and users, as lines before the events",
    },
    format: {
      type: "enum",
      options: ["ndjson", "csv", "parquet"],
      description: "The format, if the name of the file doesn't say it",
    },
    "tag-columns": {
      type: "boolean",
      description: "CSV with a column for each tag, for spreadsheets, instead of one column with all as JSON",
    },
    force: { type: "boolean", description: "Replace the file if it exists" },
    json: { type: "boolean", description: "Print the totals as JSON" },
    ...filterArgs,
    ...sourceArgs,
  },
  run: ({ args }) =>
    withSource(args, ["read"], async (source) => {
      const format = args.format ?? formatOf(args.file);
      const isStdout = args.file === "-";
      const isCompressed = /\.(gz|zst)$/.test(args.file);
      if (format === "parquet" && (isStdout || isCompressed))
        throw new ArgumentError("Parquet needs a file, and compresses itself: name it NAME.parquet.");
      if (!isStdout && !args.force && existsSync(args.file))
        throw new ArgumentError(`${args.file} exists already. Add --force to replace it.`);
      if (args["tag-columns"] && format !== "csv")
        throw new ArgumentError("--tag-columns needs CSV: name it NAME.csv.");
      if (args.all && format !== "ndjson")
        throw new ArgumentError("--all needs NDJSON: name it NAME.ndjson.");
      const query = filterQuery(args);
      if (args.all && query.size > 0) throw new ArgumentError("--all exports everything: omit the filters.");
      query.set("order", "asc");
      query.set("format", format === "csv" ? "csv" : "ndjson");
      const expected = [...query.keys()].length === 2 ? await countAll(source) : null;
      if (args["tag-columns"]) query.set("tags", "columns");
      let events = 0;
      const progress = new TransferProgress(() => expected && events / expected);
      const count = (more: number) => {
        events += more;
        progress.add(more);
      };
      try {
        const bytes = content(source, query, args.all ? () => events-- : null);
        if (isStdout) for await (const piece of bytes) await write(piece);
        else await writeFile(args.file, format, bytes, count);
      } finally {
        progress.end();
      }
      if (isStdout) return;
      if (args.json) await printLine(JSON.stringify({ file: args.file, format, events }));
      else printMessage(`Exported ${events.toLocaleString("en")} events of ${source.name} to ${args.file}.`);
    }),
});

const formats: Record<string, Format> = {
  // Standard output, and names that say nothing.
  "": "ndjson",
  ".ndjson": "ndjson",
  ".jsonl": "ndjson",
  ".csv": "csv",
  ".parquet": "parquet",
};

/** The format that a file's name says. Throws an ArgumentError for an ending that is unknown. */
function formatOf(file: string): Format {
  const ending = extname(file.replace(/\.(gz|zst)$/i, "")).toLowerCase();
  const format = Object.hasOwn(formats, ending) ? formats[ending] : undefined;
  if (format) return format;
  const known = Object.keys(formats).filter(Boolean).join(", ");
  throw new ArgumentError(
    `The ending ${ending} names no format. The known ones are ${known}, and .gz or .zst after them. To keep this name, add --format.`,
  );
}

/** The events, and before them the lines of settings and users if `onSetting` is called for each of these. */
async function* content(
  source: Source,
  query: URLSearchParams,
  onSetting: (() => void) | null,
): AsyncGenerator<Uint8Array> {
  if (onSetting)
    for await (const line of settingsLines(source)) {
      onSetting();
      yield Buffer.from(`${JSON.stringify(line)}\n`);
    }
  const { body } = await source.request(`/api/events?${query}`);
  yield* body!;
}

/** Writes a file, which has its name only once it is complete. */
async function writeFile(
  file: string,
  format: Format,
  bytes: AsyncGenerator<Uint8Array>,
  count: (more: number) => void,
): Promise<void> {
  const partial = `${file}.partial`;
  createPrivateFile(partial);
  try {
    if (format === "parquet") await writeParquet(partial, bytes, count);
    else {
      const stages = [countRows(format, count), ...compressionOf(file)];
      await pipeline([Readable.from(bytes), ...stages, createWriteStream(partial)]);
    }
    renameSync(partial, file);
  } finally {
    rmSync(partial, { force: true });
  }
}

function compressionOf(file: string): Transform[] {
  if (file.endsWith(".gz")) return [createGzip()];
  return file.endsWith(".zst") ? [createZstdCompress()] : [];
}

async function writeParquet(file: string, body: AsyncGenerator<Uint8Array>, count: (more: number) => void) {
  const parquet = new ParquetFile(file);
  for await (const records of readJson(body)) {
    for (const { value } of records) await parquet.add(value as Event);
    count(records.length);
  }
  await parquet.finish();
}

/** Counts the lines of NDJSON, or the rows of CSV: line feeds that are not between quotes, without the header's. */
function countRows(format: "ndjson" | "csv", count: (more: number) => void): Transform {
  let isHeader = format === "csv";
  let isQuoted = false;
  return new Transform({
    transform(bytes: Uint8Array, _encoding, done) {
      let rows = 0;
      if (format === "ndjson")
        for (let at = bytes.indexOf(lineFeed); at !== -1; at = bytes.indexOf(lineFeed, at + 1)) rows++;
      else
        for (const byte of bytes) {
          if (byte === quote) isQuoted = !isQuoted;
          else if (byte === lineFeed && !isQuoted) rows++;
        }
      if (rows > 0 && isHeader) {
        rows--;
        isHeader = false;
      }
      if (rows > 0) count(rows);
      done(null, bytes);
    },
  });
}

async function countAll(source: Source): Promise<number> {
  const { channels } = await source.json<{ channels: Channel[] }>("/api/channels");
  return channels.reduce((sum, { events }) => sum + events, 0);
}
