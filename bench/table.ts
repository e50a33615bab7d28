export type RowOptions = {
  seconds: number;
  rounds: number;
  /** Tells the person at the terminal how far it is. */
  say(sentence: string): void;
};

/** One line of the table: a ratio, and the figures that it comes from. */
export type Line = { what: string; measured: string; bar: string; aim: string; figures: string };

/** The lines as a Markdown table, which reads well on a terminal too. */
export function formatTable(lines: Line[]): string {
  const head: Line = { what: "what", measured: "measured", bar: "bar", aim: "aim", figures: "figures" };
  const columns = Object.keys(head) as (keyof Line)[];
  const width = (column: keyof Line) => Math.max(...[head, ...lines].map((line) => line[column].length));
  const format = (line: Line) =>
    `| ${columns.map((column) => line[column].padEnd(width(column))).join(" | ")} |`;
  const rule = `|${columns.map((column) => "-".repeat(width(column) + 2)).join("|")}|`;
  return [format(head), rule, ...lines.map(format)].join("\n");
}

/** The median of a ratio over the rounds, with its spread. */
export function ratio(rounds: number[], unit: "" | "x"): string {
  const digits = unit === "x" ? 1 : 2;
  const [low, high] = [Math.min(...rounds), Math.max(...rounds)];
  return `${median(rounds).toFixed(digits)}${unit} (${low.toFixed(digits)}–${high.toFixed(digits)})`;
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

const start = "<!-- bench:start -->";
const end = "<!-- bench:end -->";

/** Puts the results between the page's markers; the text around them stays. */
export function replaceResults(page: string, results: string): string {
  const from = page.indexOf(start);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`The page needs the markers ${start} and ${end}.`);
  return `${page.slice(0, from + start.length)}\n${results}\n${page.slice(to)}`;
}
