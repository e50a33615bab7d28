import { expect, test } from "bun:test";
import { problem } from "../../core/problems.ts";
import { connect } from "./connection.ts";

test("rows that can't be read end an insert with their own error, and none of them is stored", async () => {
  const bodies: string[] = [];
  await using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const body = await request.text().catch(() => "");
      if (body !== "") bodies.push(body);
      return new Response("Ok.\n");
    },
  });
  const warnings: string[] = [];
  const clickHouse = connect(`http://default@127.0.0.1:${server.port}/events`, {
    onWarning: (text) => warnings.push(text),
    onInfo: () => {},
  });
  async function* rows(fails: boolean) {
    yield { n: 1 };
    await Bun.sleep(10);
    if (fails) throw problem("storage-unavailable", { detail: "PostgreSQL is away." });
    yield { n: 2 };
  }
  await expect(clickHouse.insert("events", rows(true), {}, 5_000)).rejects.toMatchObject({
    code: "storage-unavailable",
  });
  await clickHouse.insert("events", rows(false), {}, 5_000);
  expect(bodies).toEqual(['{"n":1}\n{"n":2}\n']);
  expect([clickHouse.failure, warnings]).toEqual([null, []]);
  await clickHouse.close();
});
