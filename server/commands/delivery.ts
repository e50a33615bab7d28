import "../validation/messages.ts";
import { defineCommand } from "citty";
import { commandActor } from "../audit/audit-log.ts";
import { countDead, listDeliveries, retryDeadDeliveries } from "../notifications/deliveries.ts";
import { RecentEvents } from "../notifications/recent-events.ts";
import { findProject } from "../projects/projects.ts";
import { type Delivery, DeliveryQuery, deliveryStates } from "../schemas/delivery.ts";
import type { Store } from "../storage/store.ts";
import { jsonArg, printMessage, printResult } from "./output.ts";
import { projectArg } from "./project-arg.ts";
import { printTable } from "./table.ts";
import { UsageError, withStore } from "./with-store.ts";

const destination = {
  type: "string",
  description: "Only those to this destination of the project, by ID or name",
  valueHint: "D",
} as const;

const list = defineCommand({
  meta: { name: "list", description: "List a project's deliveries, newest first" },
  args: {
    project: projectArg,
    destination,
    state: { type: "string", description: deliveryStates.join(", "), valueHint: "S" },
    limit: { type: "string", description: "How many, 50 by default", valueHint: "N" },
    json: { type: "boolean", description: "Print each delivery as a line of JSON" },
  },
  run: ({ args }) =>
    withStore(async ({ control, events }) => {
      const { id: projectId } = await findProject(control, args.project);
      const reader = { projectId, accountId: null };
      const query = DeliveryQuery.safeParse({
        ...(args.state !== undefined && { state: args.state }),
        ...(args.limit !== undefined && { limit: args.limit }),
        ...(await destinationIn(control, projectId, args.destination)),
      });
      if (!query.success) {
        const { path, message } = query.error.issues[0]!;
        throw new UsageError(`--${path.join(".")} ${message}.`);
      }
      const { deliveries } = await listDeliveries(control, new RecentEvents(events), reader, query.data);
      if (args.json) {
        for (const each of deliveries) console.log(JSON.stringify(each));
        return;
      }
      printTable([["MADE", "TO", "WHAT", "STATE", "ATTEMPTS", "ANSWER"], ...deliveries.map(columnsOf)]);
      const dead = await countDead(control, reader);
      if (dead > 0)
        printMessage(`Dead: ${dead.toLocaleString("en")}. Retry them with: tidings delivery retry`);
    }),
});

const retry = defineCommand({
  meta: { name: "retry", description: "Retry dead deliveries. A running server sends them within a minute" },
  args: { project: projectArg, destination, json: jsonArg },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const { id: projectId } = await findProject(control, args.project);
      const filter = await destinationIn(control, projectId, args.destination);
      const count = await retryDeadDeliveries(control, projectId, filter, commandActor, Date.now());
      const what = `${count.toLocaleString("en")} ${count === 1 ? "delivery" : "deliveries"}`;
      await printResult(args.json, { retried: count }, `Retrying ${what}.`);
    }),
});

export const deliveryCommand = defineCommand({
  meta: { name: "delivery", description: "List a project's deliveries, and retry dead ones" },
  subCommands: { list, retry },
});

/** The filter for a destination of the project; empty without one. */
async function destinationIn(
  control: Store["control"],
  projectId: number,
  text: string | undefined,
): Promise<{ destination?: string }> {
  if (text === undefined) return {};
  const row = await control
    .selectFrom("destinations")
    .select("id")
    .where("projectId", "=", projectId)
    .where((eb) => eb.or([eb("id", "=", text), eb("name", "=", text)]))
    .executeTakeFirst();
  if (!row) throw new UsageError(`The project has no destination "${text}".`);
  return { destination: row.id };
}

function columnsOf({ createdAt, label, account, title, state, attempts, detail }: Delivery): string[] {
  const to = account === null ? label : `${label} of ${account}`;
  return [createdAt, to, title ?? "deleted event", state, String(attempts), detail ?? ""];
}
