import type { Config } from "../config/config.ts";
import { limits } from "../core/limits.ts";
import { roleMay } from "../core/permissions.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { Access, Actor } from "../http/caller.ts";
import type { Routes } from "../http/routes.ts";
import { TestResponse } from "../schemas/account-destination.ts";
import {
  DestinationKindList,
  NewProjectDestination,
  NewProjectDestinationResponse,
  ProjectDestinationChange,
  ProjectDestinationList,
  ProjectDestinationResponse,
  RotatedSecretResponse,
} from "../schemas/destination.ts";
import { Done } from "../schemas/done.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import type { Store } from "../storage/store.ts";
import { formOf } from "./kinds/form.ts";
import { type DestinationKinds, projectKinds } from "./kinds/index.ts";
import {
  addProjectDestination,
  changeProjectDestination,
  type DestinationEditor,
  deleteProjectDestination,
  findProjectDestination,
  listProjectDestinations,
  rotateSigningSecret,
  sendTest,
} from "./project-destinations.ts";

const tag = "Destinations";

export function addProjectDestinationRoutes(
  routes: Routes,
  {
    store: { control },
    kinds,
    secrets,
    config,
    baseUrl,
  }: { store: Store; kinds: DestinationKinds; secrets: SecretBox; config: Config; baseUrl: string },
): void {
  const editorOf = ({ actor, ...access }: Access & { actor: Actor }): DestinationEditor => ({
    control,
    secrets,
    policy: { allowPrivate: config.allowPrivateAddresses },
    projectId: access.projectId,
    actor,
    isManager: access.by === "account" && roleMay(access.role, "rules:manage"),
  });

  routes.add(
    {
      method: "get",
      path: "/api/destination-kinds",
      by: "rules:read",
      tag,
      summary: "List the kinds of destinations and their settings",
      query: ProjectQuery,
      response: DestinationKindList,
    },
    async () => ({
      kinds: projectKinds.map(({ kind, label, settings }) => ({
        kind,
        label,
        fields: formOf(settings).map((field) => ({
          ...field,
          description: field.description.replace("{server}", baseUrl),
        })),
      })),
    }),
  );

  routes.add(
    {
      method: "get",
      path: "/api/project-destinations",
      by: "rules:read",
      tag,
      summary: "List the project's destinations",
      description:
        "Without their secrets. Signed-in members who manage rules also get the `url` of webhooks.",
      query: ProjectQuery,
      response: ProjectDestinationList,
    },
    async (call) => ({ destinations: await listProjectDestinations(editorOf(call)) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/project-destinations",
      by: "rules:manage",
      tag,
      summary: "Add a destination",
      description:
        "Secrets are stored encrypted. No other response contains them, except for a webhook's `url`, which members who manage rules can read.",
      query: ProjectQuery,
      body: NewProjectDestination,
      status: 201,
      response: NewProjectDestinationResponse,
      problems: [409],
    },
    async ({ body, ...call }) => {
      return addProjectDestination(editorOf(call), body);
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/project-destinations/{id}",
      by: "rules:read",
      tag,
      summary: "Get a destination",
      query: ProjectQuery,
      response: ProjectDestinationResponse,
      problems: [404],
    },
    async ({ parameter, ...call }) => ({
      destination: await findProjectDestination(editorOf(call), parameter("id")),
    }),
  );

  routes.add(
    {
      method: "patch",
      path: "/api/project-destinations/{id}",
      by: "rules:manage",
      tag,
      summary: "Change a destination, or turn it on or off",
      description:
        "Turning it off cancels its waiting deliveries. If the server of a destination changes, its secrets must be entered again.",
      query: ProjectQuery,
      versioned: "destination",
      body: ProjectDestinationChange,
      response: ProjectDestinationResponse,
      problems: [404, 409],
    },
    async ({ body, ifMatch, parameter, ...call }) => ({
      destination: await changeProjectDestination(editorOf(call), parameter("id"), body, ifMatch),
    }),
  );

  routes.add(
    {
      method: "delete",
      path: "/api/project-destinations/{id}",
      by: "rules:manage",
      tag,
      summary: "Delete a destination",
      description: "Cancels its waiting deliveries. Rules that name it no longer reach it.",
      query: ProjectQuery,
      response: Done,
      problems: [404],
    },
    async ({ parameter, ...call }) => {
      await deleteProjectDestination(editorOf(call), parameter("id"));
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/project-destinations/{id}/test",
      by: "rules:manage",
      tag,
      summary: "Send a test message, without retries",
      description: "The detail has the service's own answer.",
      query: ProjectQuery,
      response: TestResponse,
      problems: [404],
    },
    async ({ projectId, parameter }) => {
      const context = {
        policy: { allowPrivate: config.allowPrivateAddresses },
        timeoutMs: limits.destinationTestMs,
        nowMs: Date.now(),
      };
      const outcome = await sendTest(
        { control, kinds, secrets, baseUrl },
        projectId,
        parameter("id"),
        context,
      );
      return { delivered: outcome.kind === "delivered", detail: outcome.detail };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/project-destinations/{id}/rotate",
      formerPath: "/api/project-destinations/{id}/rotate-secret",
      by: "rules:manage",
      tag,
      summary: "Replace a webhook's signing secret",
      description: "For a day, requests are signed with both secrets.",
      query: ProjectQuery,
      versioned: "destination",
      response: RotatedSecretResponse,
      problems: [404, 409],
    },
    async ({ ifMatch, parameter, ...call }) => ({
      ...(await rotateSigningSecret(editorOf(call), parameter("id"), ifMatch, Date.now())),
    }),
  );
}
