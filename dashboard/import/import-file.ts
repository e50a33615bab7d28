import { parse } from "csv-parse/browser/esm";
import { type ColumnMap, convertColumns } from "../../server/transfer/column-map.ts";
import { fileKind, magicBytes } from "../../server/transfer/file-kind.ts";
import { type Convert, converters, type Format } from "../../server/transfer/formats.ts";
import { readCsv } from "../../server/transfer/read-csv.ts";
import { readJson } from "../../server/transfer/read-json.ts";
import { type SourceRecord, UnreadableFileError } from "../../server/transfer/source-record.ts";

/** `columns` is a table whose columns are mapped. */
export type ImportFormat = Format | "columns";

/** Settings for reading a file. */
export type ImportPlan = {
  format: ImportFormat;
  columns: ColumnMap;
  /** The channel of events that name none; empty for none. */
  channel: string;
};

/** A file's first records, and its columns if it is a table. */
export type Sample = { records: SourceRecord[]; columns: string[] | null };

const sampleRecords = 20;
const isTable = (file: File) => /\.(csv|tsv)(\.gz)?$/i.test(file.name);

export function converterOf({ format, columns }: ImportPlan): Convert {
  return format === "columns" ? convertColumns(columns) : converters[format];
}

/** Reads a file's records, some at a time, no faster than they are taken. Throws an UnreadableFileError. */
export function recordsOf(
  file: File,
  onBytes: (count: number) => void = () => {},
  onHeader: (columns: string[]) => void = () => {},
): AsyncGenerator<SourceRecord[]> {
  const pieces = piecesOf(file, onBytes);
  return isTable(file) ? readCsv(pieces, parse as never, onHeader) : readJson(pieces);
}

export async function sampleOf(file: File): Promise<Sample> {
  const records: SourceRecord[] = [];
  let columns: string[] | null = null;
  const all = recordsOf(file, undefined, (header) => {
    columns = header;
  });
  for await (const some of all) {
    records.push(...some.slice(0, sampleRecords - records.length));
    if (records.length >= sampleRecords) break;
  }
  return { records, columns };
}

/** The bytes of a file, without gzip. `onBytes` counts those of the file itself. */
async function* piecesOf(file: File, onBytes: (count: number) => void): AsyncGenerator<Uint8Array> {
  const kind = fileKind(new Uint8Array(await file.slice(0, magicBytes).arrayBuffer()));
  const sentence = refusals[kind];
  if (sentence !== undefined) throw new UnreadableFileError(sentence);
  const counting = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(piece, controller) {
      onBytes(piece.length);
      controller.enqueue(piece);
    },
  });
  const counted = file.stream().pipeThrough(counting);
  const plain = kind === "gzip" ? counted.pipeThrough(new DecompressionStream("gzip")) : counted;
  const reader = plain.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    // Ends the reading of a file of which only the beginning is wanted.
    await reader.cancel().catch(() => {});
  }
}

const archive = "It is a compressed archive. Unpack it first.";
/** Files whose content browsers can't read. */
const refusals: Partial<Record<ReturnType<typeof fileKind>, string>> = {
  zstd: "It is compressed with zstd, which browsers can't read. Unpack it first, or use `tidings import`.",
  zip: archive,
  bzip2: archive,
  xz: archive,
  parquet: "It is a Parquet file. Convert it to NDJSON or CSV, for example with DuckDB.",
};

/** Guesses the source format and the column mapping from the first record or the columns. */
export function guessPlan({ records, columns }: Sample): ImportPlan {
  if (columns) {
    const isOurs = columns.includes("name") && columns.includes("channelId");
    if (isOurs) return { format: "csv", columns: [], channel: "" };
    const map = guessColumns(columns);
    return { format: "columns", columns: map, channel: hasField(map, "channel") ? "" : "imported" };
  }
  const first = records.find(({ value }) => typeof value === "object" && value !== null)?.value ?? {};
  const has = (...names: string[]) => names.some((name) => Object.hasOwn(first as object, name));
  const format = has("distinct_id")
    ? "posthog"
    : has("messageId", "anonymousId", "originalTimestamp")
      ? "segment"
      : has("event") && !has("name") && has("channel", "project")
        ? "logsnag"
        : "tidings";
  return { format, columns: [], channel: "" };
}

const usualNames: Record<string, RegExp> = {
  channel: /^(channel|channel_?id|category|area)$/i,
  name: /^(name|event|event_?name|title|action)$/i,
  userId: /^(user_?id|distinct_id|customer(_?id)?|user|email)$/i,
  createdAt: /^(created_?at|time|timestamp|date|date_?time|occurred_?at)$/i,
  description: /^(description|details|message)$/i,
  icon: /^(icon|emoji)$/i,
  notify: /^(notify|notification|alert)$/i,
  id: /^(id|uuid|event_?id|message_?id)$/i,
};

/** Fields of an event that a table can have a column for. */
export const columnFields = Object.keys(usualNames);

function guessColumns(columns: string[]): ColumnMap {
  const map = columnFields.flatMap((field): [string, string][] => {
    const found = columns.find((column) => usualNames[field]!.test(column.trim()));
    return found === undefined ? [] : [[field, found]];
  });
  return [...map, ["tags", "*"]];
}

export function hasField(map: ColumnMap, field: string): boolean {
  return map.some(([mapped]) => mapped === field);
}
