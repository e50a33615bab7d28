// @engines sqlite, postgres
// @long postgres
/** Buttons in Slack: clicks are signed and posted as Slack's documentation says. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { auditOf } from "../testing/account-calls.ts";
import { chatAlerts } from "../testing/chat-alerts.ts";
import { slackButtonsOf, slackClick } from "../testing/chat-clicks.ts";
import { type DestinationReceiver, destinationReceiver } from "../testing/destination-receiver.ts";
import type { ReceivedRequest } from "../testing/destination-services.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { slackSignatureFault } from "./slack.ts";

type Block = { type: string };

const secret = "8f742231b10e8888abcd99yyyzzz85a5";
let app: TestApp;
let receiver: DestinationReceiver;
let chat: ReturnType<typeof chatAlerts>;
let slack: string;

beforeAll(async () => {
  receiver = await destinationReceiver();
  app = await testApp({ allowPrivateAddresses: true });
  chat = chatAlerts(app, receiver);
  slack = await chat.addDestination("slack", { ...receiver.settings.slack, signingSecret: secret });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

const blocksOf = ({ body }: Pick<ReceivedRequest, "body">) => body.blocks as Block[];
type Options = { signedWith?: string; atSeconds?: number; status?: number; token?: string };

/** Clicks a button as Slack does. Returns what the server answers to the click's address; null if it refuses. */
async function click(message: Pick<ReceivedRequest, "body">, name: string, options: Options = {}) {
  const { signedWith = secret, status = 200, ...others } = options;
  const responseUrl = `${receiver.origin}/actions/T1/1/response`;
  const posted = slackClick(message, name, { secret: signedWith, responseUrl, ...others });
  const answered = status === 200 ? receiver.inspectNext() : null;
  const response = await app.request("/interactions/slack", { method: "POST", ...posted }, null);
  expect(`${response.status} ${await response.text()}`).toStartWith(`${status} `);
  return (await answered)?.body ?? null;
}

test("the signature is as in Slack's documented example", () => {
  const body =
    "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
  const headers = new Headers({
    "x-slack-request-timestamp": "1531420618",
    "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
  });
  const faultAt = (text: string, seconds: number) =>
    slackSignatureFault(secret, headers, Buffer.from(text), seconds * 1_000);
  expect(faultAt(body, 1_531_420_618)).toBeNull();
  expect(faultAt(body, 1_531_420_618 + 300)).toBeNull();
  expect(faultAt(body, 1_531_420_618 + 301)).toContain("timestamp");
  expect(faultAt(`${body} `, 1_531_420_618)).toContain("signature is wrong");
});

test("buttons acknowledge and resolve, and the message says who did it", async () => {
  const { id, message } = await chat.open(slack);
  expect(slackButtonsOf(message).map(({ action_id }) => action_id)).toEqual([
    "acknowledge",
    "snooze",
    "resolve",
  ]);
  expect(JSON.stringify(message.body)).not.toContain("/alert/");

  const changed = (await click(message, "acknowledge"))!;
  expect(changed).toMatchObject({ replace_original: true, text: message.body.text });
  expect(JSON.stringify(changed)).toContain("Acknowledged by ann");
  expect(slackButtonsOf({ body: changed }).map(({ action_id }) => action_id)).toEqual(["resolve"]);
  // The rest of the message stays.
  const others = ({ type }: Block) => type === "section";
  expect(blocksOf({ body: changed }).filter(others)).toEqual(blocksOf(message).filter(others));
  expect((await chat.alertOf(id)).alert).toMatchObject({
    state: "acknowledged",
    acknowledged: { by: "ann (Slack)", until: null },
  });

  const resolved = (await click({ body: changed }, "resolve"))!;
  expect(JSON.stringify(resolved)).toContain("Acknowledged by ann");
  expect(JSON.stringify(resolved)).toContain("Resolved by ann");
  expect(slackButtonsOf({ body: resolved })).toEqual([]);
  expect((await chat.alertOf(id)).alert).toMatchObject({
    state: "resolved",
    resolved: { by: "ann (Slack)" },
  });
  expect((await auditOf(app, "alert.resolved")).at(-1)).toMatchObject({
    actor: "ann (Slack)",
    actorKind: "nobody",
  });
});

test("a snooze is for an hour", async () => {
  const { id, message } = await chat.open(slack);
  expect(JSON.stringify(await click(message, "snooze"))).toContain("Snoozed for an hour by ann");
  const { alert } = await chat.alertOf(id);
  const { at, until } = alert.acknowledged!;
  expect(Date.parse(until!) - Date.parse(at)).toBe(3_600_000);
});

test("a repeated click, and one after the alert is resolved, change nothing and tell only the person", async () => {
  const { id, message } = await chat.open(slack);
  await click(message, "acknowledge");
  const { changes } = await chat.alertOf(id);
  expect(await click(message, "acknowledge")).toEqual({
    response_type: "ephemeral",
    replace_original: false,
    text: expect.stringContaining("used before: the alert was acknowledged"),
  });
  expect((await chat.alertOf(id)).changes).toEqual(changes);
  await chat.call("POST", `/api/alerts/${id}/resolve`);
  const late = await click(message, "resolve");
  expect(late).toMatchObject({
    response_type: "ephemeral",
    text: expect.stringContaining("was resolved by"),
  });
});

test("a click with another secret, an old timestamp or an invented token is refused", async () => {
  const { id, message } = await chat.open(slack);
  const other = "0f742231b10e8888abcd99yyyzzz85a5";
  await chat.addDestination("slack", { ...receiver.settings.slack, signingSecret: other });
  await click(message, "resolve", { signedWith: other, status: 401 });
  await click(message, "resolve", { atSeconds: Math.floor(Date.now() / 1_000) - 301, status: 401 });
  const { value } = slackButtonsOf(message)[0]!;
  const forged = `${value.startsWith("A") ? "B" : "A"}${value.slice(1)}`;
  await click(message, "resolve", { token: forged, status: 404 });
  await click(message, "resolve", { token: "", status: 404 });
  expect((await chat.alertOf(id)).alert.state).toBe("firing");
});

test("a click ends with the destination, and with its secret", async () => {
  const own = await chat.addDestination("slack", { ...receiver.settings.slack, signingSecret: secret });
  const { id, message } = await chat.open(own);
  const change = (body: object) => chat.call("PATCH", `/api/project-destinations/${own}`, body);
  await change({ enabled: false });
  expect(await click(message, "resolve")).toMatchObject({
    response_type: "ephemeral",
    text: expect.stringContaining("turned off"),
  });
  await change({ enabled: true, settings: { signingSecret: null } });
  await click(message, "resolve", { status: 401 });
  // Without a secret, messages have links again.
  expect(JSON.stringify((await chat.open(own)).message.body)).toContain("/alert/");
  await chat.call("DELETE", `/api/project-destinations/${own}`);
  await click(message, "resolve", { status: 401 });
  expect((await chat.alertOf(id)).alert.state).toBe("firing");
});

test("if Slack takes no answer, it learns of it, and the alert has changed", async () => {
  const { id, message } = await chat.open(slack);
  receiver.answerNext(500, "no");
  await click(message, "acknowledge", { status: 502 });
  expect((await chat.alertOf(id)).alert.state).toBe("acknowledged");
});
