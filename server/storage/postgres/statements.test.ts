// @engines postgres
/** How many statements a request takes: each can cost a round trip of some milliseconds. */
import { describe, expect, test } from "bun:test";
import { makeStorage, removeStorage } from "../../testing/engine.ts";
import { postgresProxy } from "../../testing/postgres-proxy.ts";
import { testApp } from "../../testing/test-app.ts";

describe("long lists take few statements", () => {
  test("for a thousand users, with long ids among them", async () => {
    const storage = await makeStorage("postgres");
    using proxy = await postgresProxy(storage.databaseUrl!);
    {
      await using app = await testApp({ ...storage, databaseUrl: proxy.url });
      const idOf = (n: number) => (n % 10 === 0 ? `${"long".repeat(30)}${n}` : `u${n}`);
      const lines = Array.from({ length: 1_100 }, (_, n) =>
        JSON.stringify({ channel: "c", name: "n", userId: idOf(n % 1_000) }),
      );
      const headers = { "content-type": "application/x-ndjson" };
      await app.request("/api/events", { method: "POST", headers, body: lines.join("\n") });

      proxy.statements.length = 0;
      const response = await app.request("/api/users?limit=1000");
      const { users, nextCursor } = (await response.json()) as {
        users: { userId: string; events: number }[];
        nextCursor: string | null;
      };
      expect([response.status, users.length, nextCursor]).toEqual([200, 1_000, null]);
      expect(new Map(users.map(({ userId, events }) => [userId, events]))).toEqual(
        new Map(Array.from({ length: 1_000 }, (_, n) => [idOf(n), n < 100 ? 2 : 1])),
      );
      // Not those of background work.
      const ofList = /count_tokens|FROM vocabulary|from "user_activity"|from "users"/;
      expect(proxy.statements.filter((statement) => ofList.test(statement)).length).toBeLessThan(20);
    }
    await removeStorage(storage);
  });
});
