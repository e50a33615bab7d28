import { expect, test } from "bun:test";
import fc from "fast-check";
import { mergePages, type RowPage } from "./older.ts";
import type { Row } from "./page.ts";

type Order = "asc" | "desc";

const rows = fc.uniqueArray(
  fc.record({
    ms: fc.integer({ min: 0, max: 5 }),
    id: fc.constantFrom(..."abcdefgh"),
    isOlder: fc.boolean(),
  }),
  { selector: ({ ms, id }) => `${ms} ${id}`, maxLength: 30 },
);

function inOrder(order: Order, of: readonly Row[]): Row[] {
  const sign = order === "asc" ? 1 : -1;
  return of.toSorted((a, b) => sign * (a.ms - b.ms || (a.id < b.id ? -1 : 1)));
}

/** Pages of one side, which may end early. */
function pageOf(order: Order, all: readonly Row[], after: Row | null, most: number): RowPage {
  const left = inOrder(order, after ? [...all, after] : all);
  const rest = after
    ? left.slice(left.indexOf(after) + 1).filter((row) => row.ms !== after.ms || row.id !== after.id)
    : left;
  const page = rest.slice(0, most);
  return { rows: page, next: page.length < rest.length ? page.at(-1)! : null };
}

test("pages of two sides, merged one after the other, are the pages of all events", () => {
  fc.assert(
    fc.property(
      rows,
      fc.constantFrom<Order>("asc", "desc"),
      fc.integer({ min: 1, max: 6 }),
      fc.array(fc.tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6 })), { minLength: 1 }),
      (made, order, limit, ends) => {
        const all = made.map(({ ms, id, isOlder }) => ({ ms, id, body: isOlder ? "older" : "newer" }));
        const found: Row[] = [];
        let after: Row | null = null;
        for (let step = 0; ; step++) {
          const [newer, older] = ends[step % ends.length]!;
          const sides = (["newer", "older"] as const).map((side) =>
            pageOf(
              order,
              all.filter(({ body }) => body === side),
              after,
              Math.min(limit, side === "newer" ? newer : older),
            ),
          );
          const page = mergePages(order, limit, sides);
          expect(page.rows.length).toBeLessThanOrEqual(limit);
          found.push(...page.rows);
          if (page.next === null) break;
          after = { ...page.next, body: "" };
        }
        expect(found).toEqual(inOrder(order, all));
      },
    ),
  );
});
