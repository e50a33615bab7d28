// @engines sqlite, postgres
import { expect, test } from "bun:test";
import type { Event } from "../event/event.ts";
import { testApp } from "../testing/test-app.ts";
import { untilFannedOut } from "../testing/until.ts";
import { LiveNotifications } from "./live-notifications.ts";

test("a notification that waits to be sent is not sent to somebody who was removed meanwhile", async () => {
  await using app = await testApp();
  const { control } = app.running.store;
  await app.addMember("member@example.com", "member");
  const members = await control.selectFrom("members").selectAll().orderBy("createdAt").execute();
  const [owner, member] = members.map(({ accountId }) => accountId);
  const response = await app.post({ channel: "c", name: "n", notify: true });
  const { event } = (await response.json()) as { event: Event };
  await untilFannedOut(app);

  /** Who gets the event's notification in the dashboard. */
  async function receivers(): Promise<string[]> {
    const sent: string[] = [];
    const streams = {
      accounts: () => new Set([owner!, member!]),
      sendToAccount: (accountId: string) => void sent.push(accountId),
    };
    const notifications = new LiveNotifications(control, streams, (error) => {
      throw error;
    });
    const arrival = { ms: Date.now(), sequence: 0 };
    notifications.add({ projectId: members[0]!.projectId, event, json: JSON.stringify(event), arrival });
    while (sent.length === 0) await Bun.sleep(5);
    await notifications.close();
    return sent.toSorted();
  }

  expect(await receivers()).toEqual([owner!, member!].toSorted());
  await control.deleteFrom("members").where("accountId", "=", member!).execute();
  expect(await receivers()).toEqual([owner!]);
});
