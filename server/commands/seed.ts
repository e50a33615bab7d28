import { defineCommand } from "citty";
import type { Kysely } from "kysely";
import { commandActor } from "../audit/audit-log.ts";
import { createAccount, hasAccounts } from "../auth/create-account.ts";
import { scrypt } from "../auth/passwords.ts";
import { ProjectChannels } from "../channels/project-channels.ts";
import { ArrivalClock } from "../event/id.ts";
import { DailyQuota } from "../ingest/daily-quota.ts";
import { createRecorder } from "../ingest/record.ts";
import { findProject } from "../projects/projects.ts";
import { WatchedEventsCache } from "../rules/watched-events.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { notePropertyChange } from "../storage/people-changes.ts";
import { jsonArg, printError, printMessage, report } from "./output.ts";
import { createShop, type Shop } from "./shop.ts";
import { addShopBoard } from "./shop-board.ts";
import { withCreatedStore } from "./with-store.ts";

const demo = { email: "demo@example.com", password: "tidings-demo", name: "Dana Demo" };
/** Events in flight at the same time. They share commits. */
const inFlight = 1_000;

/** Properties of users at a time: a statement takes a limited number of values. */
const usersAtOnce = 200;

export const seedCommand = defineCommand({
  meta: {
    name: "seed",
    description: "Fill a project with two months of sample events from a made-up shop",
  },
  args: {
    project: { type: "string", default: "default", description: "Project, by name or slug", valueHint: "P" },
    days: { type: "string", default: "60", description: "Number of days to fill, up to now", valueHint: "N" },
    json: jsonArg,
  },
  run: ({ args }) =>
    withCreatedStore(async ({ control, events }) => {
      if (!(await hasAccounts(control))) {
        const passwordHash = await scrypt.hash(demo.password);
        await control
          .transaction()
          .execute((transaction) => createAccount(transaction, demo, passwordHash, null, commandActor));
        printMessage(`Created an account: sign in as ${demo.email} with the password ${demo.password}`);
      }
      const { id, slug } = await findProject(control, args.project);
      const shop = createShop(Date.now(), Number(args.days));
      for (const { name, icon } of shop.channels) {
        await control
          .insertInto("channels")
          .values({ projectId: id, name, icon, lastEventAt: null, createdAt: Date.now() })
          .onConflict((conflict) => conflict.columns(["projectId", "name"]).doUpdateSet({ icon }))
          .execute();
      }
      const clock = new ArrivalClock(await events.lastArrival());
      const quota = new DailyQuota(control, { onError: (error) => printError(String(error)) });
      const { record } = createRecorder({
        events,
        channels: new ProjectChannels(control),
        rules: new WatchedEventsCache(control),
        quota,
        clock,
      });
      const source = { projectId: id, knownChannelsOnly: false, eventsPerDay: null, mayRead: true };
      for (let start = 0; start < shop.events.length; start += inFlight) {
        await Promise.all(shop.events.slice(start, start + inFlight).map((event) => record(event, source)));
      }
      await quota.close();
      await addUsers(control, id, shop.users);
      await addShopBoard(control, id, Date.now(), Number(args.days));
      const count = shop.events.length;
      await report(
        args.json,
        { project: slug, events: count },
        `Recorded ${count.toLocaleString("en")} events in the project "${slug}".`,
      );
    }),
});

/** Adds the users' properties. Those of users that are already known stay. */
async function addUsers(
  control: Kysely<ControlTables>,
  projectId: number,
  users: Shop["users"],
): Promise<void> {
  const updatedAt = Date.now();
  const rows = users.map(({ userId, properties }) => ({
    projectId,
    userId,
    properties: JSON.stringify(properties),
    updatedAt,
  }));
  for (let start = 0; start < rows.length; start += usersAtOnce) {
    await control
      .insertInto("users")
      .values(rows.slice(start, start + usersAtOnce))
      .onConflict((conflict) => conflict.columns(["projectId", "userId"]).doNothing())
      .execute();
  }
  await notePropertyChange(control, projectId);
}
