import { expect, test } from "bun:test";
import { checkColumns, parseColumnMap } from "./column-args.ts";

test("--map names columns, and tags=* the others", () => {
  const map = parseColumnMap("channel=area, name=what,tags.plan=p,tags=*");
  expect(map).toEqual([
    ["channel", "area"],
    ["name", "what"],
    ["tags.plan", "p"],
    ["tags", "*"],
  ]);
  expect(() => parseColumnMap("nam=what")).toThrow('Did you mean "name"?');
  expect(() => checkColumns(map, ["area", "b", "p"])).toThrow('The file has no column "what".');
  checkColumns(map, ["area", "what", "p"]);
});
