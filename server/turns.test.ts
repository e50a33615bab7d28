import { expect, test } from "bun:test";
import { Turns } from "./turns.ts";

test("a turn goes on until it is over, and work whose signal was aborted ends there", async () => {
  const gone = new AbortController();
  const turns = new Turns(gone.signal);
  while (!turns.isOver);
  await turns.next();
  gone.abort();
  while (!turns.isOver);
  await expect(turns.next()).rejects.toThrow("aborted");
});
