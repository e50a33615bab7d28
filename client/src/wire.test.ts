import { expect, test } from "bun:test";
import { join } from "node:path";
import type * as wire from "../../server/event/event.ts";
import { generate } from "../generate.ts";
import type { Event, EventList } from "./wire.gen.ts";

/** Schemas allow undefined for what may be left out; JSON has none. */
type AsJson<Value> = Value extends object
  ? { [Field in keyof Value]: AsJson<Exclude<Value[Field], undefined>> }
  : Value;

test("wire.gen.ts is up to date", async () => {
  expect(await Bun.file(join(import.meta.dir, "wire.gen.ts")).text()).toBe(generate());
});

test("the generated types match the schemas", () => {
  // Checked by tsc: an assignment does not compile if the types differ.
  const event = (one: AsJson<wire.Event>): Event => one;
  const list = (one: AsJson<wire.EventList>): EventList => one;
  const back = (one: EventList): wire.EventList => one;
  expect([event, list, back].length).toBe(3);
});
