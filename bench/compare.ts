import {
  type Benchmark,
  failed,
  failedLine,
  formatColumns,
  type Line,
  type RowOptions,
  twoTables,
} from "./table.ts";

/** The setups of Tidings that the PostgreSQL table compares. */
export const setups = ["SQLite", "PostgreSQL, one node", "PostgreSQL, two nodes"] as const;
export type Setup = (typeof setups)[number];
export type SetupOptions = Record<Setup, RowOptions>;

/** One line of that table, with a cell for each setup. */
export type Comparison = { what: string; cells: string[]; bar?: string; figures?: string };

/** Runs a row on each setup and merges the results into lines with a cell for each. */
export function compare(row: Benchmark, bar?: string) {
  return async (options: SetupOptions): Promise<Comparison[]> => {
    const lines: Line[][] = [];
    for (const setup of setups) {
      const { log } = options[setup];
      log(`On ${setup}:`);
      lines.push(
        await row(options[setup]).catch((error: Error) => {
          log(`it failed: ${error.message}`);
          return [failedLine("", error)];
        }),
      );
    }
    const longest = lines.toSorted((a, b) => b.length - a.length)[0]!;
    return longest.map(({ what, bar: sqliteBar }, index) => {
      const cells = lines.map((setupLines) => setupLines[index]?.measured ?? failed);
      // The row's own bar is for SQLite's table.
      const isBarred = bar !== undefined && sqliteBar !== undefined;
      const failure = lines.find((setupLines) => setupLines[0]?.measured === failed)?.[0]?.figures;
      return {
        what,
        cells,
        ...(isBarred && { bar, figures: lines[1]?.[index]?.figures ?? "" }),
        ...(failure && { figures: failure }),
      };
    });
  };
}

/** Formats the lines as Markdown: those with a bar first, then the rest. */
export function formatComparisons(lines: Comparison[]): string {
  return twoTables(lines, (group) => {
    const hasBars = group.some(({ bar }) => bar !== undefined);
    const columns = ["what", ...setups, ...(hasBars ? ["bar", "figures"] : [])];
    return formatColumns(
      columns,
      group.map(({ what, cells, bar = "", figures = "" }) => [
        what,
        ...cells,
        ...(hasBars ? [bar, figures] : []),
      ]),
    );
  });
}
