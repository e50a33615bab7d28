import { expect, test } from "bun:test";
import { withChange } from "./with-change.ts";

test("a change sets what it has, also null, and leaves what is undefined or missing", () => {
  const before: { name: string; note: string | null; count: number } = { name: "a", note: "n", count: 1 };
  expect(withChange(before, { name: "b", note: null })).toEqual({ name: "b", note: null, count: 1 });
  expect(withChange(before, { name: undefined })).toEqual(before);
  expect(withChange(before, {})).not.toBe(before);
});
