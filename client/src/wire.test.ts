import { expect, test } from "bun:test";
import { join } from "node:path";
import type * as wire from "../../server/event/event.ts";
import { generate } from "../generate.ts";
import type { Event, EventList } from "./wire.gen.ts";

test("wire.gen.ts is what the schemas say", async () => {
  expect(await Bun.file(join(import.meta.dir, "wire.gen.ts")).text()).toBe(generate());
});

test("the generated types are the schemas' own", () => {
  // Checked by tsc: each assignment fails to compile when the two differ.
  const event = (one: wire.Event): Event => one;
  const list = (one: wire.EventList): EventList => one;
  const back = (one: EventList): wire.EventList => one;
  expect([event, list, back].length).toBe(3);
});
