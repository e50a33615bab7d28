import {
  failed,
  failedLine,
  formatColumns,
  type Line,
  type Row,
  type RowOptions,
  twoTables,
} from "./table.ts";

/** The ways to run Tidings that stand beside each other in the table of PostgreSQL. */
export const subjects = ["SQLite", "PostgreSQL, one node", "PostgreSQL, two nodes"] as const;
export type Subject = (typeof subjects)[number];
export type SubjectOptions = Record<Subject, RowOptions>;

/** One line of that table: a cell for each of the subjects. */
export type Comparison = { what: string; cells: string[]; bar?: string; figures?: string };

/** Runs a row on each of the subjects, and puts what they give beside each other. */
export function beside(row: Row, bar?: string) {
  return async (options: SubjectOptions): Promise<Comparison[]> => {
    const lines: Line[][] = [];
    for (const subject of subjects) {
      const { say } = options[subject];
      say(`On ${subject}:`);
      lines.push(
        await row(options[subject]).catch((error: Error) => {
          say(`it failed: ${error.message}`);
          return [failedLine("", error)];
        }),
      );
    }
    const longest = lines.toSorted((a, b) => b.length - a.length)[0]!;
    return longest.map(({ what, bar: sqliteBar }, index) => {
      const cells = lines.map((of) => of[index]?.measured ?? failed);
      // The row's own bar is that of SQLite's table.
      const isBarred = bar !== undefined && sqliteBar !== undefined;
      const failure = lines.find((of) => of[0]?.measured === failed)?.[0]?.figures;
      return {
        what,
        cells,
        ...(isBarred && { bar, figures: lines[1]?.[index]?.figures ?? "" }),
        ...(failure && { figures: failure }),
      };
    });
  };
}

/** The lines as Markdown: what there is a bar for, and then the rest. */
export function formatComparisons(lines: Comparison[]): string {
  return twoTables(lines, (some) => {
    const hasBars = some.some(({ bar }) => bar !== undefined);
    const columns = ["what", ...subjects, ...(hasBars ? ["bar", "figures"] : [])];
    return formatColumns(
      columns,
      some.map(({ what, cells, bar = "", figures = "" }) => [
        what,
        ...cells,
        ...(hasBars ? [bar, figures] : []),
      ]),
    );
  });
}
