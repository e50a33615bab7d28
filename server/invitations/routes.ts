import { makeChange } from "../audit/changes.ts";
import { type Auth, signInResponse } from "../auth/auth.ts";
import type { PasswordQueue } from "../auth/passwords.ts";
import { limits } from "../core/limits.ts";
import { ProjectQuery } from "../event/event-query.ts";
import { clientNetwork } from "../http/client-address.ts";
import type { Routes } from "../http/routes.ts";
import type { Mailer } from "../notifications/email.ts";
import { changeAsMember } from "../projects/members.ts";
import { Done } from "../schemas/done.ts";
import {
  InvitationList,
  InvitationPreview,
  InvitationSignUp,
  JoinResponse,
  NewInvitation,
  NewInvitationResponse,
} from "../schemas/invitation.ts";
import type { Store } from "../storage/store.ts";
import { takePoint } from "../storage/take-point.ts";
import { acceptInvitation, previewInvitation, signUpWithInvitation } from "./accept-invitation.ts";
import { renderInvitationEmail } from "./invitation-email.ts";
import {
  invite,
  listInvitations,
  renewInvitation,
  revokeInvitation,
  type SentInvitation,
} from "./invitations.ts";
import { TakenAddresses } from "./taken-addresses.ts";

type Deps = {
  store: Store;
  auth: Auth;
  baseUrl: string;
  passwords: PasswordQueue;
  /** Null if email isn't configured. */
  mailer: Mailer | null;
  authorizer: { checkOrigin: (request: Request) => void };
  addressOf: (request: Request) => string | null;
};

export function addInvitationRoutes(routes: Routes, deps: Deps): void {
  const { store, auth, baseUrl, passwords, mailer, authorizer, addressOf } = deps;
  const { control } = store;
  const sending = store.rateLimiter({
    name: "invitations",
    points: limits.invitationsPerHour,
    seconds: 60 * 60,
  });
  const opening = store.rateLimiter({
    name: "invitation-links",
    points: limits.invitationRequestsPerMinute,
    seconds: 60,
  });
  const takenAddresses = new TakenAddresses(store);

  routes.add(
    {
      method: "get",
      path: "/api/invitations",
      by: "members:manage",
      tag: "Members",
      summary: "List invitations",
      description:
        "Those that nobody has accepted yet. An invitation is void while its sender may not send it.",
      query: ProjectQuery,
      response: InvitationList,
    },
    async ({ projectId }) => ({ invitations: await listInvitations(control, projectId) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/invitations",
      by: "members:manage",
      tag: "Members",
      summary: "Invite to a project",
      description:
        "Returns a link that works once. It is also sent by email, if email is configured and the invitation names an address.",
      query: ProjectQuery,
      body: NewInvitation,
      status: 201,
      response: NewInvitationResponse,
      problems: [409, 429],
    },
    async (call) => {
      await takePoint(sending, call.account.id, "requests with invitations");
      return send(await changeAsMember(control, call, (change) => invite(change, call.body)));
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/invitations/{id}",
      by: "members:manage",
      tag: "Members",
      summary: "Revoke an invitation",
      query: ProjectQuery,
      response: Done,
      problems: [404],
    },
    async (call) => {
      await makeChange(control, call, (change) => revokeInvitation(change, call.parameter("id")));
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/invitations/{id}/renew",
      by: "members:manage",
      tag: "Members",
      summary: "Renew an invitation",
      description: `Sends it again, with a new link for ${limits.invitationDaysDefault} days. The former link is void.`,
      query: ProjectQuery,
      response: NewInvitationResponse,
      problems: [404, 429],
    },
    async (call) => {
      await takePoint(sending, call.account.id, "requests with invitations");
      const id = call.parameter("id");
      return send(await changeAsMember(control, call, (change) => renewInvitation(change, id)));
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/invitations/token/{token}",
      operationId: "getInvitationByToken",
      by: "anyone",
      tag: "Members",
      summary: "Look at an invitation",
      response: InvitationPreview,
      problems: [404, 429],
    },
    async ({ request, parameter }) => {
      await takePoint(opening, clientNetwork(addressOf(request)), "requests with invitations");
      return previewInvitation(control, parameter("token"));
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/invitations/token/{token}/accept",
      operationId: "acceptInvitation",
      by: "account",
      tag: "Members",
      summary: "Accept an invitation",
      description: "Joins the project with the signed-in account.",
      response: JoinResponse,
      problems: [404, 409, 429],
    },
    async ({ request, account, actor, parameter }) => {
      await takePoint(opening, clientNetwork(addressOf(request)), "requests with invitations");
      return { project: await acceptInvitation(control, parameter("token"), account, actor) };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/invitations/token/{token}/sign-up",
      operationId: "signUpWithInvitation",
      by: "anyone",
      tag: "Members",
      summary: "Accept an invitation with a new account",
      description: "The response signs the new account in.",
      body: InvitationSignUp,
      status: 201,
      response: JoinResponse,
      problems: [403, 404, 409, 429],
    },
    async ({ request, actor, body, parameter }) => {
      // It signs in, so other sites must not call it.
      authorizer.checkOrigin(request);
      await takePoint(opening, clientNetwork(addressOf(request)), "requests with invitations");
      const token = parameter("token");
      const deps = { passwords, takenAddresses };
      const { project, email } = await signUpWithInvitation(control, token, body, deps, actor);
      return signInResponse(auth, request, actor, { email, password: body.password }, { ok: true, project });
    },
  );

  async function send({ invitation, project, token }: SentInvitation): Promise<NewInvitationResponse> {
    const link = `${baseUrl}/invite/${token}`;
    const made = { ok: true as const, invitation, link };
    if (invitation.email === null)
      return { ...made, emailed: false, detail: "Give the link to the person whom you invite." };
    if (!mailer)
      return { ...made, emailed: false, detail: "Email is not configured. Send the link yourself." };
    const email = renderInvitationEmail(invitation, project, link);
    const outcome = await mailer.send({ ...email, to: invitation.email }, limits.destinationTestMs);
    return { ...made, emailed: outcome.kind === "delivered", detail: outcome.detail };
  }
}
