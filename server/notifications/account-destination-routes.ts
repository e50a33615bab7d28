import type { Config } from "../config/config.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { Account } from "../http/caller.ts";
import type { Routes } from "../http/routes.ts";
import {
  DestinationChange,
  DestinationList,
  DestinationResponse,
  NewDestination,
  TestResponse,
} from "../schemas/account-destination.ts";
import { Done } from "../schemas/done.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import type { Store } from "../storage/store.ts";
import {
  addBrowser,
  changeDestination,
  findDestination,
  listDestinations,
  removeDestination,
} from "./account-destinations.ts";
import { sendTo } from "./destinations.ts";
import type { DestinationKinds } from "./kinds/index.ts";
import { type Message, messageOfEvent } from "./message.ts";
import { AddressRefused, checkAddress, type OutboundPolicy } from "./outbound.ts";

type Deps = {
  store: Store;
  kinds: DestinationKinds;
  secrets: SecretBox;
  config: Config;
  baseUrl: string;
  /** Sends a link that confirms an account's address. Null if email isn't configured. */
  requestVerification: ((account: Pick<Account, "id" | "email">) => Promise<void>) | null;
};

/** The destinations of accounts: dashboard, browsers, email. */
export function addDestinationRoutes(
  routes: Routes,
  { store: { control }, kinds, secrets, config, baseUrl, requestVerification }: Deps,
): void {
  const policy = { allowPrivate: config.allowPrivateAddresses };

  routes.add(
    {
      method: "get",
      path: "/api/destinations",
      by: "account",
      tag: "Notifications",
      summary: "List your destinations",
      response: DestinationList,
    },
    async ({ account }) => ({ destinations: await listDestinations(control, account.id) }),
  );

  routes.add(
    {
      method: "post",
      path: "/api/destinations",
      by: "account",
      tag: "Notifications",
      summary: "Add a browser",
      body: NewDestination,
      status: 201,
      response: DestinationResponse,
      problems: [409],
    },
    async ({ account, body }) => {
      checkEndpoint(body.subscription.endpoint, policy);
      return { destination: await addBrowser(control, secrets, account.id, body) };
    },
  );

  routes.add(
    {
      method: "patch",
      path: "/api/destinations/{id}",
      by: "account",
      tag: "Notifications",
      summary: "Turn a destination on or off, or limit its messages",
      description:
        "Turning on email whose address was never confirmed sends a link to confirm it, each time, at most three times an hour.",
      body: DestinationChange,
      response: DestinationResponse,
      problems: [404, 409, 429],
    },
    async ({ account, body, parameter }) => {
      const { kind, emailVerified } = await findDestination(control, account.id, parameter("id"));
      if (kind === "email" && body.enabled) {
        if (!kinds.has("email") || !requestVerification) throw emailUnavailable();
        if (emailVerified === 0) await requestVerification(account);
      }
      return {
        destination: await changeDestination(control, account.id, parameter("id"), body),
      };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/destinations/{id}",
      by: "account",
      tag: "Notifications",
      summary: "Remove a browser",
      response: Done,
      problems: [404, 409],
    },
    async ({ account, parameter }) => {
      const { id, kind } = await findDestination(control, account.id, parameter("id"));
      if (kind !== "browser")
        throw problem("limit-reached", { detail: "This destination can't be removed. Turn it off instead." });
      await removeDestination(control, id, "The device was removed before this was sent.");
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/destinations/{id}/test",
      by: "account",
      tag: "Notifications",
      summary: "Send a test message, without retries",
      response: TestResponse,
      problems: [404, 409],
    },
    async ({ account, parameter }) => {
      const destination = await findDestination(control, account.id, parameter("id"));
      const { id, kind, emailVerified } = destination;
      if (kind === "email" && !kinds.has(kind)) throw emailUnavailable();
      if (kind === "dashboard")
        throw problem("limit-reached", {
          detail: "The dashboard needs no test: it shows every notification.",
        });
      if (kind === "email" && emailVerified === 0)
        throw problem("email-unverified", {
          detail: "Confirm your email address first. Turning on email sends you a link.",
        });
      const context = { policy, timeoutMs: limits.destinationTestMs, nowMs: Date.now() };
      const outcome = await sendTo({ kinds, secrets }, destination, testMessage(baseUrl), context);
      if (outcome.kind === "gone") await removeDestination(control, id, outcome.detail);
      return { delivered: outcome.kind === "delivered", detail: outcome.detail };
    },
  );
}

function testMessage(baseUrl: string): Message {
  const event = {
    id: Bun.randomUUIDv7(),
    name: "It works",
    channelId: "test",
    userId: "",
    icon: "🔔",
    notify: true,
    tags: { from: baseUrl },
    createdAt: new Date().toISOString(),
  };
  const message = messageOfEvent(event, {
    id: event.id,
    url: `${baseUrl}/account/notifications`,
    project: { slug: "", name: "Tidings" },
    rule: null,
    urgent: false,
  });
  return { ...message, type: "test" };
}

/** Throws `body-invalid` if the server must not call this endpoint. */
function checkEndpoint(endpoint: string, policy: OutboundPolicy): void {
  try {
    checkAddress(endpoint, policy);
  } catch (error) {
    if (!(error instanceof AddressRefused)) throw error;
    const { message } = error;
    throw problem("body-invalid", {
      detail: message,
      errors: [{ pointer: "/subscription/endpoint", detail: message }],
    });
  }
}

function emailUnavailable() {
  return problem("email-unavailable", {
    detail: "Email is not configured on this server. Set SMTP_URL and restart it.",
  });
}
