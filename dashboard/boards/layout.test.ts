/** Moving and resizing tiles, as the board's editor does. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { starterTiles } from "../../server/boards/starter-tiles.ts";
import { effort } from "../../server/testing/engine.ts";
import { compactTiles, freePlace, moveTile, resizeTile, stepTile } from "./layout.ts";

const columns = 12;
type Placed = { id: string; x: number; y: number; w: number; h: number };

/** Boards without overlaps: each tile is added at a free place. */
const boards = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 6 })), {
    minLength: 1,
    maxLength: 12,
  })
  .map((sizes) => {
    const tiles: Placed[] = [];
    for (const [w, h] of sizes) tiles.push({ id: `${tiles.length}`, ...freePlace(tiles, w, h) });
    return tiles;
  });

function expectInOrder(tiles: readonly Placed[]): void {
  for (const tile of tiles) {
    expect(tile.x).toBeGreaterThanOrEqual(0);
    expect(tile.y).toBeGreaterThanOrEqual(0);
    expect(tile.x + tile.w).toBeLessThanOrEqual(columns);
    for (const other of tiles) {
      const overlaps =
        tile.id !== other.id &&
        tile.x < other.x + other.w &&
        other.x < tile.x + tile.w &&
        tile.y < other.y + other.h &&
        other.y < tile.y + tile.h;
      expect(overlaps ? `${tile.id} overlaps ${other.id}` : "").toBe("");
    }
  }
}

const runs = { numRuns: effort(150, 2_000) };

test("tiles never overlap and stay in the columns, wherever one is moved or however large it gets", () => {
  const step = fc.record({
    tile: fc.nat(),
    resizes: fc.boolean(),
    a: fc.integer({ min: -3, max: 15 }),
    b: fc.integer({ min: -3, max: 30 }),
  });
  fc.assert(
    fc.property(boards, fc.array(step, { maxLength: 6 }), (board, steps) => {
      let tiles = board;
      for (const { tile, resizes, a, b } of steps) {
        const { id } = tiles[tile % tiles.length]!;
        tiles = resizes ? resizeTile(tiles, id, a, b) : moveTile(tiles, id, a, b);
        expectInOrder(tiles);
        expect(tiles.map((each) => each.id)).toEqual(board.map((each) => each.id));
      }
    }),
    runs,
  );
});

test("a step of the keyboard moves a tile, unless it is at the edge", () => {
  fc.assert(
    fc.property(boards, fc.nat(), (board, at) => {
      const { id } = board[at % board.length]!;
      const before = compactTiles(board);
      const from = before.find((each) => each.id === id)!;
      for (const direction of ["up", "down", "left", "right"] as const) {
        const after = stepTile(before, id, direction);
        expectInOrder(after);
        const to = after.find((each) => each.id === id)!;
        if (direction === "up") expect(to.y).toBeLessThanOrEqual(from.y);
        if (direction === "down") expect(to.y).toBeGreaterThanOrEqual(from.y);
        if (direction === "left") expect(to.x).toBe(Math.max(0, from.x - 1));
        if (direction === "right") expect(to.x).toBe(Math.min(columns - from.w, from.x + 1));
      }
    }),
    runs,
  );
});

test("a tile moves below a taller one, and back", () => {
  const tiles = [
    { id: "small", x: 0, y: 0, w: 4, h: 2 },
    { id: "tall", x: 0, y: 2, w: 4, h: 5 },
  ];
  const down = stepTile(tiles, "small", "down");
  expect(down.map(({ id, y }) => [id, y])).toEqual([
    ["small", 5],
    ["tall", 0],
  ]);
  expect(stepTile(down, "small", "up").map(({ id, y }) => [id, y])).toEqual([
    ["small", 0],
    ["tall", 2],
  ]);
});

test("the first board has no gaps", () => {
  expectInOrder(starterTiles);
  expect(compactTiles(starterTiles).map(({ id, y }) => [id, y])).toEqual(
    starterTiles.map(({ id, y }) => [id, y]),
  );
});
