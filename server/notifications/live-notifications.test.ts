// @engines sqlite, postgres
import { expect, test } from "bun:test";
import { testApp } from "../testing/test-app.ts";
import { untilFannedOut } from "../testing/until.ts";
import { LiveNotifications } from "./live-notifications.ts";
import { RecentEvents } from "./recent-events.ts";

test("a notification that waits to be sent is not sent to somebody who was removed meanwhile", async () => {
  await using app = await testApp();
  const { control } = app.running.store;
  await app.addMember("member@example.com", "member");
  const members = await control.selectFrom("members").selectAll().orderBy("createdAt").execute();
  const [owner, member] = members.map(({ accountId }) => accountId);

  /** Who gets the event's notification in the dashboard. */
  async function receivers(): Promise<string[]> {
    const sent: string[] = [];
    const streams = {
      accounts: () => new Set([owner!, member!]),
      sendToAccount: (accountId: string) => void sent.push(accountId),
    };
    const events = new RecentEvents(app.running.store.events);
    const notifications = new LiveNotifications(control, events, streams, (error) => {
      throw error;
    });
    await notifications.start();
    await app.post({ channel: "c", name: "n", notify: true });
    await untilFannedOut(app);
    notifications.wake();
    while (sent.length === 0) await Bun.sleep(5);
    await notifications.close();
    return sent.toSorted();
  }

  expect(await receivers()).toEqual([owner!, member!].toSorted());
  await control.deleteFrom("members").where("accountId", "=", member!).execute();
  expect(await receivers()).toEqual([owner!]);
});
