import type { LoadOptions, Month } from "./month.ts";

/** `seconds`: how long a server is under load in each round; `warmupMs`: how long before that without being counted. */
export type RowOptions = LoadOptions & {
  warmupMs: number;
  rounds: number;
  /** The database that the reading rows share; the first row that asks loads it. */
  month(): Promise<Month>;
};

/** Measures one row of the table, or several that belong together. */
export type Row = (options: RowOptions) => Promise<Line[]>;

/** One line of the table: what was measured, and the figures that it comes from. Some have neither bar nor aim. */
export type Line = { what: string; measured: string; bar?: string; aim?: string; figures: string };

/** Stands in the table for what could not be measured. */
export function failedLine(what: string, error: unknown): Line {
  const { message } = error as Error;
  return { what, measured: failed, figures: message.length > 300 ? `${message.slice(0, 300)} …` : message };
}

export const failed = "failed";

/** The lines as a Markdown table. */
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

/** Rows of cells as a Markdown table, which reads well on a terminal too. */
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

/** A cell holds no line end, and no bar of its own. */
function cellOf(text: string): string {
  return text.replace(/\s+/g, " ").replaceAll("|", "\\|").trim();
}

/** All that was measured: what there is a bar for, and then the rest. */
export function formatResults(lines: Line[]): string {
  return twoTables(lines, formatTable);
}

/** What there is a bar for as one table, and the rest as another. */
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

/** The median over the rounds, and in brackets the lowest and the highest; they are left out where there was one round. */
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

const places = { sqlite: "bench:sqlite", postgres: "bench:postgres" };

/**
 * The page with results in one of its places.
 *
 * @param written - the page as it was written before, whose results stay in the other places
 */
export function placeResults(
  page: string,
  written: string,
  place: keyof typeof places,
  results: string,
): string {
  let placed = page;
  for (const [name, mark] of Object.entries(places)) {
    const start = `<!-- ${mark} -->`;
    const end = `<!-- /${mark} -->`;
    if (!page.includes(`${start}\n${end}`)) throw new Error(`The page needs the place ${start}.`);
    const before = written.split(start)[1]?.split(end)[0] ?? "\nNot measured yet.\n";
    const text = name === place ? `\n${results}\n` : before;
    placed = placed.replace(`${start}\n${end}`, () => start + text + end);
  }
  return placed;
}
