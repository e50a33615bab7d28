import type { Kysely } from "kysely";
import { makeChange } from "../audit/changes.ts";
import { limits } from "../core/limits.ts";
import { ProjectQuery } from "../event/event-query.ts";
import { clientNetwork } from "../http/client-address.ts";
import type { Routes } from "../http/routes.ts";
import {
  Acknowledgement,
  AlertAction,
  AlertLinkResponse,
  AlertList,
  AlertListQuery,
  AlertResponse,
} from "../schemas/alert.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Store } from "../storage/store.ts";
import { takePoint } from "../storage/take-point.ts";
import { type AlertLinks, openAlertLink } from "./alert-links.ts";
import {
  acknowledgeAlert,
  alertOf,
  countOpenAlerts,
  findAlert,
  listAlertChanges,
  listAlerts,
  resolveAlert,
  toldTogether,
} from "./alerts.ts";
import { followAlertLink } from "./follow-alert-link.ts";

type Deps = {
  store: Pick<Store, "control" | "rateLimiter">;
  alertLinks: AlertLinks;
  fanOut: { wake(): void };
  baseUrl: string;
  addressOf: (request: Request) => string | null;
};

const tag = "Alerts";

export function addAlertRoutes(
  routes: Routes,
  { store, alertLinks, fanOut, baseUrl, addressOf }: Deps,
): void {
  const { control } = store;
  const opening = store.rateLimiter({
    name: "alert-links",
    points: limits.alertLinkRequestsPerMinute,
    seconds: 60,
  });

  routes.add(
    {
      method: "get",
      path: "/api/alerts",
      by: "alerts:read",
      tag,
      summary: "List alerts, newest first",
      description:
        "A rule about a silence or a count opens an alert when it notifies, and so does any rule with `resolve`, but a digest. A rule has at most one open alert.",
      query: AlertListQuery,
      response: AlertList,
    },
    async ({ projectId, query }) => ({
      ...(await listAlerts(control, projectId, query)),
      open: await countOpenAlerts(control, projectId),
    }),
  );

  routes.add(
    {
      method: "get",
      path: "/api/alerts/{id}",
      by: "alerts:read",
      tag,
      summary: "Get an alert and what happened to it",
      query: ProjectQuery,
      response: AlertResponse,
      problems: [404],
    },
    async ({ projectId, parameter }) => readAlert(control, projectId, parameter("id")),
  );

  routes.add(
    {
      method: "post",
      path: "/api/alerts/{id}/acknowledge",
      operationId: "acknowledgeAlert",
      by: "alerts:change",
      tag,
      summary: "Acknowledge an alert",
      description:
        "Says that you look after it. Until it is resolved, or for so many minutes, nobody is reminded, and further matches of its rule notify nobody.",
      query: ProjectQuery,
      body: Acknowledgement,
      response: AlertResponse,
      problems: [404, 409],
    },
    async (call) => {
      const { projectId, body, parameter } = call;
      const id = parameter("id");
      await makeChange(control, call, (change) => acknowledgeAlert(change, id, body.minutes));
      fanOut.wake();
      return readAlert(control, projectId, id);
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/alerts/{id}/resolve",
      operationId: "resolveAlert",
      by: "alerts:change",
      tag,
      summary: "Resolve an alert",
      description: "Its rule goes on, and opens another alert when it notifies again. Nobody is told.",
      query: ProjectQuery,
      response: AlertResponse,
      problems: [404, 409],
    },
    async (call) => {
      const { projectId, parameter } = call;
      await makeChange(control, call, (change) => resolveAlert(change, parameter("id")));
      return readAlert(control, projectId, parameter("id"));
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/alert-links/{token}",
      operationId: "getAlertLink",
      by: "anyone",
      tag,
      summary: "Look at the link in the message of an alert",
      response: AlertLinkResponse,
      problems: [404, 429],
    },
    async ({ request, parameter }) => {
      await takePoint(opening, clientNetwork(addressOf(request)), "requests with links of alerts");
      return openLink(parameter("token"));
    },
  );

  routes.add(
    {
      method: "post",
      path: "/alert/{token}",
      operationId: "followAlertLink",
      by: "anyone",
      tag,
      summary: "Acknowledge or resolve an alert with the link in its message",
      description:
        "Needs no session: the link is signed for its recipient. It can be used once for each action, as long as the recipient may change alerts. Of a group of alerts, it changes all that are open.",
      body: AlertAction,
      response: AlertLinkResponse,
      problems: [404, 409, 429],
    },
    async ({ request, actor: from, body, parameter }) => {
      await takePoint(opening, clientNetwork(addressOf(request)), "requests with links of alerts");
      const token = parameter("token");
      await followAlertLink(control, alertLinks.read(token), body, from);
      fanOut.wake();
      return openLink(token);
    },
  );

  async function openLink(token: string) {
    const { alert: named, project, actor } = await openAlertLink(control, alertLinks.read(token));
    const [alert] = await toldTogether(control, named);
    return {
      project: project.name,
      recipient: actor.name,
      url: `${baseUrl}/p/${project.slug}/alerts?alert=${alert.id}`,
      alert: alertOf(alert, Date.now()),
    };
  }
}

async function readAlert(control: Kysely<ControlTables>, projectId: number, id: string) {
  return {
    alert: alertOf(await findAlert(control, projectId, id), Date.now()),
    changes: await listAlertChanges(control, id),
  };
}
