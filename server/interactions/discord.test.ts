// @engines sqlite, postgres
/** Buttons in Discord: interactions are signed and posted as Discord's documentation says. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { chatAlerts } from "../testing/chat-alerts.ts";
import { discordButtonsOf, discordInteraction } from "../testing/chat-clicks.ts";
import { discordBody } from "../testing/destination-bodies.ts";
import { type DestinationReceiver, destinationReceiver } from "../testing/destination-receiver.ts";
import type { ReceivedRequest } from "../testing/destination-services.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

type Message = Pick<ReceivedRequest, "body">;
type Answer = { type: number; data: Record<string, unknown> };

const [application, other] = [newApplication(), newApplication()];
let app: TestApp;
let receiver: DestinationReceiver;
let chat: ReturnType<typeof chatAlerts>;
let discord: string;

beforeAll(async () => {
  receiver = await destinationReceiver();
  app = await testApp({ allowPrivateAddresses: true });
  chat = chatAlerts(app, receiver);
  discord = await chat.addDestination("discord", settings());
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

const settings = () => ({ ...receiver.settings.discord, publicKey: application.publicKey });

/** The public key as Discord shows it. */
function newApplication() {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const der = publicKey.export({ type: "spki", format: "der" });
  return { publicKey: der.subarray(-32).toString("hex"), privateKey };
}

type Posting = { key?: KeyObject; at?: string; status?: number; headers?: Record<string, string> };

async function post(payload: object, posting: Posting = {}): Promise<Answer> {
  const { key = application.privateKey, at = application.publicKey, status = 200 } = posting;
  const { headers, body } = discordInteraction(payload, key);
  const init = { method: "POST", headers: { ...headers, ...posting.headers }, body };
  const response = await app.request(`/interactions/discord/${at}`, init, null);
  const text = await response.text();
  expect(`${response.status} ${text}`).toStartWith(`${status} `);
  return JSON.parse(text);
}

function click(message: Message, name: string, posting: Posting = {}): Promise<Answer> {
  const { custom_id } = discordButtonsOf(message).find((button) => button.custom_id.startsWith(`${name}.`))!;
  const user = { id: "53908232506183680", username: "ann_1", global_name: "Ann" };
  const data = { component_type: 2, custom_id };
  return post({ type: 3, data, member: { user, nick: null }, message: message.body }, posting);
}

test("a ping gets a pong, and only with the signature of the application", async () => {
  expect(await post({ type: 1 })).toEqual({ type: 1 } as Answer);
  await post({ type: 1 }, { key: other.privateKey, status: 401 });
  await post({ type: 1 }, { headers: { "x-signature-timestamp": "1" }, status: 401 });
  await post({ type: 1 }, { headers: { "x-signature-ed25519": "" }, status: 401 });
  // No point of the curve, no hexadecimal digits.
  await post({ type: 1 }, { at: "f".repeat(64), status: 401 });
  await post({ type: 1 }, { at: "key", status: 401 });
  await post({ type: 2 }, { status: 400 });
});

test("buttons acknowledge and resolve, and the message says who did it", async () => {
  const { id, message } = await chat.open(discord);
  expect(discordButtonsOf(message).map(({ label }) => label)).toEqual([
    "Acknowledge",
    "Snooze for an hour",
    "Resolve",
  ]);
  expect(JSON.stringify(message.body)).not.toContain("/alert/");

  const changed = await click(message, "acknowledge");
  expect(changed.type).toBe(7);
  const changedMessage = { body: changed.data };
  expect(discordButtonsOf(changedMessage)).toMatchObject([
    { label: "Acknowledged by Ann", disabled: true },
    { label: "Resolve" },
  ]);
  discordBody.parse({ ...message.body, ...changed.data });
  expect((await chat.alertOf(id)).alert).toMatchObject({
    state: "acknowledged",
    acknowledged: { by: "Ann (Discord)", until: null },
  });
  const resolved = await click(changedMessage, "resolve");
  expect(discordButtonsOf({ body: resolved.data })).toMatchObject([{ label: "Resolved by Ann" }]);
  expect((await chat.alertOf(id)).alert).toMatchObject({ resolved: { by: "Ann (Discord)" } });
});

test("a repeated click, and one after the alert is resolved, tell only the person", async () => {
  const { id, message } = await chat.open(discord);
  await click(message, "snooze");
  const { changes } = await chat.alertOf(id);
  expect(await click(message, "acknowledge")).toMatchObject({
    type: 4,
    data: { flags: 64, content: expect.stringContaining("used before") },
  });
  expect((await chat.alertOf(id)).changes).toEqual(changes);
  await chat.call("POST", `/api/alerts/${id}/resolve`);
  const late = await click(message, "resolve");
  expect(late).toMatchObject({ type: 4, data: { content: expect.stringContaining("was resolved by") } });
});

test("another application, an invented token and another kind of destination do nothing", async () => {
  const { id, message } = await chat.open(discord);
  await chat.addDestination("discord", { ...settings(), publicKey: other.publicKey });
  await click(message, "resolve", { key: other.privateKey, at: other.publicKey, status: 401 });
  await click(message, "resolve", { key: other.privateKey, status: 401 });
  const forged = JSON.parse(JSON.stringify(message), (key, value) =>
    key === "custom_id" ? value.replace(/.$/, (last: string) => (last === "A" ? "Q" : "A")) : value,
  );
  await click(forged, "resolve", { status: 404 });
  const data = { custom_id: `delete.${discordButtonsOf(message)[0]!.custom_id.split(".")[1]}` };
  await post({ type: 3, data, user: { username: "ann" } }, { status: 400 });
  expect((await chat.alertOf(id)).alert.state).toBe("firing");
});

test("a click ends when the destination is turned off or deleted", async () => {
  const own = await chat.addDestination("discord", settings());
  const { id, message } = await chat.open(own);
  await chat.call("PATCH", `/api/project-destinations/${own}`, { enabled: false });
  expect(await click(message, "resolve")).toMatchObject({
    type: 4,
    data: { content: expect.stringContaining("turned off") },
  });
  await chat.call("DELETE", `/api/project-destinations/${own}`);
  await click(message, "resolve", { status: 401 });
  expect((await chat.alertOf(id)).alert.state).toBe("firing");
});
