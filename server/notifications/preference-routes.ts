import type { Kysely } from "kysely";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { clientNetwork } from "../http/client-address.ts";
import type { Routes } from "../http/routes.ts";
import type { WatchedEventsCache } from "../rules/watched-events.ts";
import { Done } from "../schemas/done.ts";
import {
  LevelChange,
  MuteResponse,
  NewMute,
  PreferencesChange,
  PreferencesResponse,
  UnsubscribePreview,
} from "../schemas/preferences.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Store } from "../storage/store.ts";
import { takePoint } from "../storage/take-point.ts";
import { addMute, removeMute } from "./mutes.ts";
import { changeLevel, changeSettings, readPreferences } from "./preferences.ts";
import { previewUnsubscribe, resubscribe, type UnsubscribeLinks, unsubscribe } from "./unsubscribe.ts";

type Deps = {
  store: Pick<Store, "control" | "rateLimiter">;
  watchedEvents: Pick<WatchedEventsCache, "invalidate">;
  fanOut: { wake: () => void };
  unsubscribeLinks: UnsubscribeLinks;
  addressOf: (request: Request) => string | null;
};

const tag = "Notifications";

export function addPreferenceRoutes(
  routes: Routes,
  { store, watchedEvents, fanOut, unsubscribeLinks, addressOf }: Deps,
): void {
  const { control } = store;
  const opening = store.rateLimiter({
    name: "unsubscribe-links",
    points: limits.unsubscribeRequestsPerMinute,
    seconds: 60,
  });
  const preferencesOf = async (accountId: string) => ({
    preferences: await readPreferences(control, accountId, Date.now()),
  });

  routes.add(
    {
      method: "get",
      path: "/api/preferences",
      operationId: "getPreferences",
      by: "account",
      tag,
      summary: "Get how you want to be notified",
      response: PreferencesResponse,
    },
    async ({ account }) => preferencesOf(account.id),
  );

  routes.add(
    {
      method: "patch",
      path: "/api/preferences",
      by: "account",
      tag,
      summary: "Change your time zone, quiet hours or email digest",
      description: "What was collected for your email is sent at the new time.",
      versioned: null,
      body: PreferencesChange,
      response: PreferencesResponse,
    },
    async ({ account, body, ifMatch }) => {
      await changeSettings(control, account.id, body, ifMatch, Date.now());
      fanOut.wake();
      return preferencesOf(account.id);
    },
  );

  routes.add(
    {
      method: "put",
      path: "/api/preferences/levels",
      operationId: "setNotificationLevel",
      by: "account",
      tag,
      summary: "Choose what a destination gets of a channel or a project",
      body: LevelChange,
      response: PreferencesResponse,
      problems: [404, 409],
    },
    async ({ account, body }) => {
      const projectId = await findOwnProject(control, account.id, body.project);
      await changeLevel(control, projectId, account.id, body);
      watchedEvents.invalidate(projectId);
      return preferencesOf(account.id);
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/preferences/mutes",
      operationId: "createMute",
      by: "account",
      tag,
      summary: "Mute a channel, or events with a name in it",
      description: "Replaces an earlier mute of the same.",
      body: NewMute,
      status: 201,
      response: MuteResponse,
      problems: [404, 409],
    },
    async ({ account, body }) => {
      const projectId = await findOwnProject(control, account.id, body.project);
      return { mute: await addMute(control, projectId, account.id, body, Date.now()) };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/preferences/mutes/{id}",
      operationId: "deleteMute",
      by: "account",
      tag,
      summary: "Unmute",
      response: Done,
      problems: [404],
    },
    async ({ account, parameter }) => {
      await removeMute(control, account.id, parameter("id"));
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/preferences/unsubscribed/{project}",
      operationId: "resubscribe",
      by: "account",
      tag,
      summary: "Resume email of a project that you unsubscribed from",
      response: Done,
      problems: [404],
    },
    async ({ account, parameter }) => {
      const projectId = await findOwnProject(control, account.id, parameter("project"));
      await resubscribe(control, { accountId: account.id, projectId });
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/unsubscribe/{token}",
      operationId: "getUnsubscribeLink",
      by: "anyone",
      tag,
      summary: "Look at the link that an email unsubscribes with",
      response: UnsubscribePreview,
      problems: [404, 429],
    },
    async ({ request, parameter }) => {
      await takePoint(opening, clientNetwork(addressOf(request)), "requests to unsubscribe");
      return previewUnsubscribe(control, unsubscribeLinks.read(parameter("token")));
    },
  );

  routes.add(
    {
      method: "post",
      path: "/unsubscribe/{token}",
      operationId: "unsubscribe",
      by: "anyone",
      tag,
      summary: "Unsubscribe with the link in an email",
      description:
        "Ends a project's email to the account that the link was sent to (RFC 8058, one click). The body is ignored.",
      response: Done,
      problems: [404, 429],
    },
    async ({ request, parameter }) => {
      await takePoint(opening, clientNetwork(addressOf(request)), "requests to unsubscribe");
      await unsubscribe(control, unsubscribeLinks.read(parameter("token")), Date.now());
    },
  );
}

/** The id of a project that the account is a member of. Throws `project-unknown`. */
async function findOwnProject(
  control: Kysely<ControlTables>,
  accountId: string,
  slug: string,
): Promise<number> {
  const project = await control
    .selectFrom("members")
    .innerJoin("projects", "projects.id", "members.projectId")
    .select("projects.id")
    .where("members.accountId", "=", accountId)
    .where("projects.slug", "=", slug)
    .executeTakeFirst();
  // Doesn't reveal whether the project exists.
  if (!project)
    throw problem("project-unknown", { detail: "You are not a member of a project with this slug." });
  return project.id;
}
