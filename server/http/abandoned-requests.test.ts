/** Clients that leave while a read is in progress, as a browser does when its page changes. */
import { test } from "bun:test";
import { effort } from "../testing/engine.ts";
import { testApp } from "../testing/test-app.ts";

const requests = effort(20, 200);
/** Of a step of all reads, so that clients leave at different ones. */
const latestMs = 5;

test("a client that leaves causes no error that nobody handles", async () => {
  await using app = await testApp();
  const cookie = await app.signIn();
  await app.post(
    Array.from({ length: 300 }, (_, n) => ({ channel: `c${n % 5}`, name: `n${n}`, userId: `u${n % 9}` })),
  );
  const { id } = (await app.list("?limit=1"))[0]!;
  const paths = [
    "sidebar",
    "events",
    "events?limit=100&q=n1*",
    `events/${id}`,
    `events/${id}/deliveries`,
    "events/count?q=n1*",
    "events/stream",
    "stats?split=name",
    "stats?metric=users",
    "funnel?step=n1&step=n2",
    "retention?by=day",
    "retention/users?by=day&cohort=0",
    "users?sort=events&q=u1",
    "users/u1",
    "channels",
    "notifications/groups",
    "deliveries",
    "events/rejected/groups",
  ];
  for (const path of paths) {
    for (let n = 0; n < requests; n++) {
      const leaving = new AbortController();
      const asked = app.request(`/api/${path}`, { headers: { cookie }, signal: leaving.signal });
      await Bun.sleep(n % latestMs);
      leaving.abort();
      await asked.then((response) => response.text()).catch(() => {});
    }
  }
}, 600_000);
