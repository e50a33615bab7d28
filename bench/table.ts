import type { LoadOptions, Month } from "./month.ts";

/** `seconds`: how long a server is under load in each round; `warmupMs`: the uncounted load before that. */
export type RowOptions = LoadOptions & {
  warmupMs: number;
  rounds: number;
  /** Of a row with many cases, those whose description has one of these texts are measured. */
  cases: string[];
  /** The database that the reading rows share; loaded on first use. */
  month(): Promise<Month>;
};

/** Measures one line of the table, or several related ones. */
export type Benchmark = (options: RowOptions) => Promise<Line[]>;

/** A line of the table: the result, and the figures behind it. Some lines have neither bar nor aim. */
export type Line = { what: string; measured: string; bar?: string; aim?: string; figures: string };

/** The line for a row that failed. */
export function failedLine(what: string, error: unknown): Line {
  const { message } = error as Error;
  return { what, measured: failed, figures: message.length > 300 ? `${message.slice(0, 300)} …` : message };
}

export const failed = "failed";

/** Formats lines as a Markdown table. */
export function formatTable(lines: Line[]): string {
  const hasBars = lines.some(({ bar }) => bar !== undefined);
  const columns = hasBars
    ? (["what", "measured", "bar", "aim", "figures"] as const)
    : (["what", "measured", "figures"] as const);
  return formatColumns(
    columns,
    lines.map((line) => columns.map((column) => line[column] ?? "")),
  );
}

/** Formats cells as a Markdown table that is readable on a terminal too. */
export function formatColumns(columns: readonly string[], rows: string[][]): string {
  const cells = rows.map((row) => row.map(cellOf));
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...cells.map((row) => row[index]!.length)),
  );
  const format = (row: readonly string[]) =>
    `| ${row.map((cell, index) => cell.padEnd(widths[index]!)).join(" | ")} |`;
  const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`;
  return [format(columns), rule, ...cells.map(format)].join("\n");
}

/** Removes line breaks and escapes pipes. */
function cellOf(text: string): string {
  return text.replace(/\s+/g, " ").replaceAll("|", "\\|").trim();
}

/** Formats all lines: those with a bar first, then the rest. */
export function formatResults(lines: Line[]): string {
  return twoTables(lines, formatTable);
}

/** Lines with a bar as one table, the rest as another. */
export function twoTables<OneLine extends { bar?: string }>(
  lines: OneLine[],
  format: (lines: OneLine[]) => string,
): string {
  const [barred, further] = [true, false].map((wanted) =>
    lines.filter(({ bar }) => (bar !== undefined) === wanted),
  ) as [OneLine[], OneLine[]];
  const tables: string[] = [];
  if (barred.length > 0) tables.push(format(barred));
  if (further.length > 0) tables.push(`### Further figures\n\n${format(further)}`);
  return tables.join("\n\n");
}

/** The median of a ratio over the rounds, with its spread. */
export function ratio(rounds: number[], unit: "" | "x"): string {
  return spread(rounds, (value) => `${value.toFixed(unit === "x" ? 1 : 2)}${unit}`);
}

/** The median over the rounds, with the lowest and highest in brackets if there were several rounds. */
export function spread(rounds: number[], format: (value: number) => string): string {
  if (rounds.length === 1) return format(rounds[0]!);
  const withoutUnit = (value: number) => format(value).replace(/\D+$/, "");
  return `${format(median(rounds))} (${withoutUnit(Math.min(...rounds))}–${withoutUnit(Math.max(...rounds))})`;
}

export function perSecond(value: number): string {
  return `${count(value)}/s`;
}

export function count(value: number): string {
  return Math.round(value).toLocaleString("en");
}

export function milliseconds(value: number): string {
  return `${value < 10 ? value.toFixed(2) : value.toFixed(1)} ms`;
}

export function megabytes(bytes: number): string {
  return `${count(bytes / 1_000_000)} MB`;
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

const sections = { sqlite: "bench:sqlite", postgres: "bench:postgres" };

/** Returns a page with results in one of its sections. */
export function insertResults(page: string, section: keyof typeof sections, results: string): string {
  return replaceSection(page, sections[section], results);
}

/** Returns a page with other text between the marks of one of its sections. */
export function replaceSection(page: string, name: string, text: string): string {
  const start = `<!-- ${name} -->\n`;
  const end = `<!-- /${name} -->`;
  const from = page.indexOf(start);
  const to = page.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`The page has no section ${start}`);
  return `${page.slice(0, from)}${start}${text}\n${page.slice(to)}`;
}
