// @engines sqlite, postgres
// @long postgres
/** Buttons in Telegram: the bot's webhook is set, and updates are posted, as Telegram's documentation says. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { chatAlerts } from "../testing/chat-alerts.ts";
import { telegramButtonsOf, telegramClick } from "../testing/chat-clicks.ts";
import { type DestinationReceiver, destinationReceiver } from "../testing/destination-receiver.ts";
import type { ReceivedRequest } from "../testing/destination-services.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

type Message = Pick<ReceivedRequest, "body">;

let app: TestApp;
let receiver: DestinationReceiver;
let chat: ReturnType<typeof chatAlerts>;
let telegram: string;
/** The secret that the webhook was set with. */
let secret: string;

beforeAll(async () => {
  receiver = await destinationReceiver();
  app = await testApp({ allowPrivateAddresses: true, url: "https://tidings.example.com" });
  chat = chatAlerts(app, receiver);
  telegram = await chat.addDestination("telegram", settings());
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

const settings = () => ({ ...receiver.settings.telegram, buttons: true });

async function post(posted: ReturnType<typeof telegramClick>, status = 200) {
  const response = await app.request("/interactions/telegram", { method: "POST", ...posted }, null);
  const text = await response.text();
  expect(`${response.status} ${text}`).toStartWith(`${status} `);
  return JSON.parse(text) as Record<string, unknown>;
}

function dataOf(message: Message, label: string): string {
  return telegramButtonsOf(message).find(({ text }) => text === label)!.callback_data;
}

const click = (message: Message, label: string, status = 200) =>
  post(telegramClick(dataOf(message, label), secret), status);

test("the bot's webhook is set once, and buttons acknowledge and resolve", async () => {
  const { id, message } = await chat.open(telegram);
  const [webhook, ...others] = receiver.calls.splice(0);
  expect(others).toEqual([]);
  expect(webhook!.path).toEndWith("/setWebhook");
  expect(webhook!.body.url).toBe("https://tidings.example.com/interactions/telegram");
  secret = webhook!.body.secret_token as string;
  expect(telegramButtonsOf(message).map(({ text }) => text)).toEqual([
    "Acknowledge",
    "Snooze for an hour",
    "Resolve",
  ]);
  expect(JSON.stringify(message.body)).not.toContain("/alert/");

  expect(await click(message, "Acknowledge")).toEqual({
    method: "answerCallbackQuery",
    callback_query_id: "4382bfdwdsb323b2d9",
    text: "Acknowledged by Ann Lee",
  });
  const changed = receiver.calls.splice(0)[0]!;
  expect(changed.path).toEndWith("/editMessageReplyMarkup");
  expect(changed.body).toMatchObject({ chat_id: -1001234567890, message_id: 101 });
  expect(telegramButtonsOf(changed).map(({ text }) => text)).toEqual(["Acknowledged by Ann Lee", "Resolve"]);
  expect((await chat.alertOf(id)).alert).toMatchObject({
    state: "acknowledged",
    acknowledged: { by: "Ann Lee (Telegram)", until: null },
  });

  // The button that says what was done does nothing.
  expect(await click(changed, "Acknowledged by Ann Lee")).not.toHaveProperty("text");
  await click(changed, "Resolve");
  expect(telegramButtonsOf(receiver.calls.splice(0)[0]!).map(({ text }) => text)).toEqual([
    "Resolved by Ann Lee",
  ]);
  expect((await chat.alertOf(id)).alert).toMatchObject({ resolved: { by: "Ann Lee (Telegram)" } });
  await chat.open(telegram);
  expect(receiver.calls).toEqual([]);
});

test("a repeated click, and one after the alert is resolved, tell only the person", async () => {
  const { id, message } = await chat.open(telegram);
  await click(message, "Snooze for an hour");
  const { changes } = await chat.alertOf(id);
  expect(await click(message, "Acknowledge")).toMatchObject({
    show_alert: true,
    text: expect.stringContaining("used before"),
  });
  expect((await chat.alertOf(id)).changes).toEqual(changes);
  await chat.call("POST", `/api/alerts/${id}/resolve`);
  expect(await click(message, "Resolve")).toMatchObject({ text: expect.stringContaining("was resolved by") });
});

test("a click works if Telegram can't change the buttons", async () => {
  const { id, message } = await chat.open(telegram);
  receiver.cutNext();
  expect(await click(message, "Resolve")).toMatchObject({ text: "Resolved by Ann Lee" });
  expect((await chat.alertOf(id)).alert.state).toBe("resolved");
});

test("a wrong secret, an invented token and a destination without buttons do nothing", async () => {
  const { id, message } = await chat.open(telegram);
  const data = dataOf(message, "Resolve");
  await post(telegramClick(data, undefined), 401);
  await post(telegramClick(data, `${secret.slice(1)}A`), 401);
  // Telegram would repeat it with another status.
  const invented = data.replace(/.$/, (last) => (last === "A" ? "Q" : "A"));
  expect(await post(telegramClick(invented, secret))).toMatchObject({
    text: expect.stringContaining("This link is not valid any more"),
    show_alert: true,
  });
  await post(telegramClick(`x${data.slice(1)}`, secret));
  await post({ headers: {}, body: "[]" }, 400);
  // What was sent to the bot before its webhook was set.
  await post({ headers: {}, body: JSON.stringify({ update_id: 1, message: { text: "hello" } }) });
  await chat.call("PATCH", `/api/project-destinations/${telegram}`, { settings: { buttons: false } });
  expect(await click(message, "Resolve")).toMatchObject({
    text: expect.stringContaining("has no buttons any more"),
  });
  await post(telegramClick(data, undefined), 401);
  await chat.call("PATCH", `/api/project-destinations/${telegram}`, { settings: { buttons: true } });
  expect((await chat.alertOf(id)).alert.state).toBe("firing");
});

test("a click ends when the destination is turned off or deleted", async () => {
  const own = await chat.addDestination("telegram", settings());
  const { id, message } = await chat.open(own);
  await chat.call("PATCH", `/api/project-destinations/${own}`, { enabled: false });
  expect(await click(message, "Resolve")).toMatchObject({ text: expect.stringContaining("turned off") });
  await chat.call("DELETE", `/api/project-destinations/${own}`);
  await click(message, "Resolve", 401);
  expect((await chat.alertOf(id)).alert.state).toBe("firing");
});
