import { expect } from "bun:test";
import type { Alert, AlertChange } from "../schemas/alert.ts";
import type { ProjectDestination } from "../schemas/destination.ts";
import type { Rule } from "../schemas/rule.ts";
import type { DestinationReceiver } from "./destination-receiver.ts";
import type { ReceivedRequest } from "./destination-services.ts";
import { jsonCalls } from "./json-calls.ts";
import type { TestApp } from "./test-app.ts";
import { until } from "./until.ts";

/** Opens alerts that a chat is told, for tests of the buttons in its messages. */
export function chatAlerts(app: TestApp, receiver: DestinationReceiver) {
  const call = jsonCalls(
    () => app,
    () => ({ "x-api-key": app.key }),
  );
  let made = 0;

  async function addDestination(kind: string, settings: object): Promise<string> {
    const body = { kind, name: `Chat ${made++}`, settings };
    const { destination } = await call<{ destination: ProjectDestination }>(
      "POST",
      "/api/project-destinations",
      body,
      201,
    );
    return destination.id;
  }

  /** Opens an alert that the destination is told. Returns its ID, and the message. */
  async function open(destination: string): Promise<{ id: string; message: ReceivedRequest }> {
    const name = `Disk ${made++} full`;
    const { rule } = await call<{ rule: Rule }>(
      "POST",
      "/api/rules",
      {
        name,
        q: `name:"${name}"`,
        when: { type: "each" },
        resolve: "state=ok",
        to: { everyone: false, members: [], destinations: [destination] },
      },
      201,
    );
    await app.post({ channel: "servers", name });
    await until(() => receiver.count > 0);
    const { alerts } = await call<{ alerts: Alert[] }>("GET", `/api/alerts?rule=${rule.id}`);
    expect(alerts).toHaveLength(1);
    return { id: alerts[0]!.id, message: receiver.take() };
  }

  return {
    call,
    addDestination,
    open,
    alertOf: (id: string) => call<{ alert: Alert; changes: AlertChange[] }>("GET", `/api/alerts/${id}`),
  };
}
