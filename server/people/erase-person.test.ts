// @engines sqlite, postgres, clickhouse
// @long postgres
import { expect, test } from "bun:test";
import { expectConsistent } from "../testing/consistency.ts";
import { openTestStore, testApp } from "../testing/test-app.ts";
import { tracesOf } from "../testing/traces.ts";
import { untilJobDone } from "../testing/until.ts";

test("erasing any ID of a person erases all of them, and leaves no trace", async () => {
  await using own = await testApp();
  const ids = ["Zoë.Quux+77@example.com", "visitor Quuux-9", "phone Quuuux-8"];
  const call = (path: string, body: object) =>
    own.request(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  for (const [index, userId] of ids.entries())
    for (let n = 0; n < 30; n++)
      await own.post({ channel: "c", name: `n${index}`, userId, tags: { n: String(n) } });
  await own.post({ channel: "c", name: "kept", userId: "another" });
  expect(
    (await call("/api/identify", { userId: ids[0], anonymousId: ids[1], properties: { a: 1 } })).status,
  ).toBe(200);
  expect((await call(`/api/users/${encodeURIComponent(ids[0]!)}/merge`, { userId: ids[2] })).status).toBe(
    200,
  );
  // Rejected with an ID of the person that isn't the one to erase.
  await own.post({ channel: "c", name: "", userId: ids[2] });

  const erasure = await own.request(`/api/users/${encodeURIComponent(ids[1]!)}`, { method: "DELETE" });
  const job = await untilJobDone(own, erasure);
  expect(job).toMatchObject({
    total: 90,
    receipt: { erasedEvents: 90, erasedProfiles: 1, erasedRejectedEvents: 1 },
  });
  for (const trace of [...ids, "Quux", "Quuux", "Quuuux"])
    expect([trace, await tracesOf(own.config, trace)]).toEqual([trace, ""]);
  expect((await own.list()).map(({ name }) => name)).toEqual(["kept"]);
  await expectConsistent(own.config);
  const store = await openTestStore(own.config);
  expect(await store.control.selectFrom("personIds").selectAll().execute()).toEqual([]);
  expect(await store.control.selectFrom("peopleVersions").select("joined").execute()).toEqual([
    { joined: 0 },
  ]);
  await store.close();
  // Analyses don't remember them either: the same IDs are other people from now on.
  for (const userId of ids) await own.post({ channel: "c", name: "again", userId });
  const stats = await own.request("/api/stats?metric=users&q=name:again&by=day");
  expect(JSON.stringify(await stats.json())).toContain('"overall":3');
});
