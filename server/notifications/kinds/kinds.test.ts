import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { z } from "@hono/zod-openapi";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { limits } from "../../core/limits.ts";
import type { Event } from "../../event/event.ts";
import { projectDestinationKinds } from "../../schemas/destination-kinds.ts";
import { validEvent } from "../../testing/arbitraries.ts";
import { type DestinationReceiver, destinationReceiver } from "../../testing/destination-receiver.ts";
import { webhookSecret } from "../../testing/destination-services.ts";
import { effort } from "../../testing/engine.ts";
import { type Message, messageOfEvent } from "../message.ts";
import { projectKinds } from "./index.ts";
import { type Context, type DestinationKind, type Outcome, settingMeta } from "./kind.ts";
import { pushoverAt } from "./pushover.ts";
import { createWebhookSecret, rotateWebhookSecret, type WebhookSettings, webhook } from "./webhook.ts";

const nowMs = Date.now();
const context: Context = { policy: { allowPrivate: true }, nowMs };

const event: Event = {
  id: "019c6a2f-0000-7000-8000-000000000001",
  name: "Payment received",
  channelId: "payments",
  userId: "u1",
  icon: "💰",
  notify: true,
  tags: { plan: "pro", note: "<!channel> @everyone & *co*" },
  description: "**49 €** from [Ada](https://example.com/ada?a=1&b=2), `net`\n\n- one\n- two",
  createdAt: "2026-01-31T09:30:00.000Z",
};
const message = messageOfEvent(event, {
  id: "dlv_1",
  url: "https://tidings.example.com/p/shop/events/019c6a2f-0000-7000-8000-000000000001",
  project: { slug: "shop", name: "Coffee & shop" },
  rule: { id: "r1", name: "Payments" },
  urgent: false,
});
const test1: Message = {
  ...message,
  type: "test",
  title: "It works",
  icon: "🔔",
  text: null,
  fields: [],
  event: null,
  rule: null,
};
const summary: Message = {
  ...message,
  id: "dlv_2",
  type: "summary",
  title: "214 more in 5 minutes",
  icon: null,
  text: null,
  matches: { count: 214, from: "2026-01-31T09:30:00.000Z", to: "2026-01-31T09:35:00.000Z" },
};
const held: Message = {
  ...test1,
  id: "dlv_3",
  type: "messages-held",
  title: "980 messages were held back",
  text: 'They came since noon: 980 of "Disks".',
};

let receiver: DestinationReceiver;
let settingsOf: Record<string, Record<string, unknown>>;
/** All kinds, with Pushover at the receiver. */
let kinds: DestinationKind[];
beforeAll(async () => {
  receiver = await destinationReceiver();
  settingsOf = receiver.settings;
  kinds = projectKinds.map((kind) => (kind.kind === "pushover" ? pushoverAt(receiver.origin) : kind));
});
afterAll(() => receiver[Symbol.asyncDispose]());

const names = projectKinds.map(({ kind }) => kind);

function send(name: string, sent: Message = message, more: Partial<Context> = {}): Promise<Outcome> {
  const kind = kinds.find(({ kind }) => kind === name)!;
  return kind.send(sent, kind.settings.parse(settingsOf[name]), { ...context, ...more });
}

test("kinds are listed once, in the order in which people meet them", () => {
  expect(names).toEqual([...projectDestinationKinds]);
  expect(new Set(projectKinds.map(({ label }) => label)).size).toBe(names.length);
});

test("every setting of a form has a title and says how to get it", () => {
  for (const { kind, settings } of projectKinds) {
    for (const [name, field] of Object.entries(settings.shape)) {
      const meta = settingMeta(field as z.ZodType);
      if (meta.internal) continue;
      expect([kind, name, meta.title, meta.description]).toEqual([
        kind,
        name,
        expect.stringMatching(/^[A-Z].*[^.]$/),
        expect.stringMatching(/^[A-Z].*\.$/),
      ]);
    }
  }
});

describe("urgent messages mention on", () => {
  const urgent: Message = { ...message, urgent: true };
  const mentioning = async (name: string, mention: string, sent = urgent) => {
    const kind = kinds.find((each) => each.kind === name)!;
    const settings = kind.settings.parse({ ...settingsOf[name], mention });
    expect(await kind.send(sent, settings, context)).toMatchObject({ kind: "delivered" });
    return receiver.take().body;
  };

  test("Slack", async () => {
    const body = await mentioning("slack", "@here, U012AB3CD S0614TZR7");
    expect((body.blocks as object[])[0]).toEqual({
      type: "section",
      text: { type: "mrkdwn", text: "<!here> <@U012AB3CD> <!subteam^S0614TZR7>", verbatim: true },
    });
  });

  test("Discord", async () => {
    expect(await mentioning("discord", "@here,80351110224678912,&165511591545143296")).toMatchObject({
      content: "@here <@&165511591545143296> <@80351110224678912>",
      allowed_mentions: {
        parse: ["everyone"],
        roles: ["165511591545143296"],
        users: ["80351110224678912"],
      },
    });
    expect(await mentioning("discord", "80351110224678912")).toMatchObject({
      allowed_mentions: { parse: [], roles: [], users: ["80351110224678912"] },
    });
  });

  test("Telegram", async () => {
    const { text } = await mentioning("telegram", "@ada_lovelace @grace_h");
    expect(text).toStartWith("@ada_lovelace @grace_h\n<b>");
  });

  test("Microsoft Teams", async () => {
    const body = await mentioning("teams", "ada@example.com");
    const [{ content }] = body.attachments as [{ content: { body: object[]; msteams: object } }];
    expect(content.body[0]).toMatchObject({ text: "<at>ada@example.com</at>" });
    expect(content.msteams).toMatchObject({
      entities: [{ type: "mention", mentioned: { id: "ada@example.com" } }],
    });
  });

  test("Matrix", async () => {
    const body = await mentioning("matrix", "@room @ada:example.com");
    expect(body["m.mentions"]).toEqual({ room: true, user_ids: ["@ada:example.com"] });
    expect(body.body).toStartWith("@room @ada:example.com\n");
    expect(body.formatted_body).toStartWith(
      '<p>@room <a href="https://matrix.to/#/%40ada%3Aexample.com">@ada:example.com</a></p>',
    );
  });

  const examples = {
    slack: "@here",
    discord: "@everyone",
    telegram: "@ada_lovelace",
    teams: "ada@example.com",
    matrix: "@room",
  };
  test.each(Object.entries(examples))(
    "%s, but only when something begins or goes on",
    async (name, mention) => {
      const plainBody = async (sent: Message) => {
        await send(name, sent);
        return receiver.take().body;
      };
      for (const sent of [message, { ...urgent, type: "digest" as const }, { ...summary, urgent: true }])
        expect(await mentioning(name, mention, sent)).toEqual(await plainBody(sent));
      for (const type of ["silence", "reminder"] as const)
        expect(await mentioning(name, mention, { ...urgent, type })).not.toEqual(
          await plainBody({ ...urgent, type }),
        );
    },
  );

  test.each([
    ["slack", "@everyone"],
    ["slack", "<!here>"],
    ["discord", "@ada"],
    ["discord", "12"],
    ["telegram", "@here everybody"],
    ["teams", "Ada"],
    ["matrix", "@ada"],
    ["matrix", "@a:<b>"],
    ["slack", " , "],
  ])("no other names: %s, %s", (name, mention) => {
    const { settings } = kinds.find(({ kind }) => kind === name)!;
    const { error } = settings.safeParse({ ...settingsOf[name], mention });
    expect(error?.issues.map(({ path }) => path[0])).toEqual(["mention"]);
  });
});

describe("a message looks native on", () => {
  const isDelivered = async (name: string, sent = message) => {
    expect(await send(name, sent)).toMatchObject({
      kind: "delivered",
      detail: expect.stringMatching(/ answered 200\.$/),
    });
    return receiver.take().body;
  };

  test("Slack", async () => {
    const { text, blocks } = (await isDelivered("slack")) as { text: string; blocks: object[] };
    expect(text).toBe("💰 Payment received");
    expect(blocks).toMatchObject([
      { type: "section", text: { text: `*<${message.url}|💰 Payment received>*` } },
      {
        type: "section",
        text: { text: "*49 €* from <https://example.com/ada?a=1&amp;b=2|Ada>, `net`\n\n• one\n• two" },
      },
      {
        fields: [
          ...["Channel", "payments", "User", "u1", "plan", "pro", "note"].map((text) => ({ text })),
          { type: "plain_text", text: "<!channel> @everyone & *co*" },
        ],
      },
      {
        type: "context",
        elements: [
          {
            text: "Coffee &amp; shop · <!date^1769851800^{date_short_pretty} at {time}|January 31, 2026 at 09:30:00 UTC>",
          },
        ],
      },
    ]);
  });

  test("Slack, with an address as a link", async () => {
    const address = "https://shop.example/r?a=1&b=*2*";
    const { blocks } = (await isDelivered("slack", {
      ...message,
      fields: [{ name: "receipt", value: address }],
    })) as { blocks: object[] };
    const escaped = "https://shop.example/r?a=1&amp;b=*2*";
    expect(blocks[2]).toMatchObject({ fields: [{ text: "receipt" }, { text: `<${escaped}|${escaped}>` }] });
  });

  test("the newest events of a digest, and urgency, everywhere", async () => {
    const newest = [event, { ...event, name: "Order *placed*", userId: "" }];
    const digest: Message = { ...summary, type: "digest", urgent: true, newest };
    for (const name of names) {
      const body = JSON.stringify(await isDelivered(name, digest));
      expect(body).toContain("Payment received");
      expect(body).toMatch(/Order [\\]*\*placed/);
      // A webhook's receiver reads `urgent`.
      expect(body).toContain(name === "webhook" ? '"urgent":true' : "🚨 214 more");
    }
  });

  test("the links of an alert everywhere, also with a long text", async () => {
    const url = "https://tidings.example.com/alert/e30.c2ln";
    for (const name of names) {
      const body = await isDelivered(name, { ...message, text: "long ".repeat(4_000), alert: { url } });
      if (name === "webhook") expect(body).toMatchObject({ data: { alert: { url } } });
      else if (name === "ntfy")
        expect(body).toMatchObject({
          message: expect.not.stringContaining("/alert/"),
          actions: [
            { action: "view" },
            { action: "http", label: "Acknowledge", url, method: "POST", body: '{"do":"acknowledge"}' },
            { action: "http", label: "Resolve", url, method: "POST", body: '{"do":"resolve"}' },
          ],
        });
      else
        for (const action of ["do=acknowledge", "minutes=60", "do=resolve"])
          expect(JSON.stringify(body)).toContain(action);
    }
  });

  describe("buttons of an alert", () => {
    const buttons = { token: "t".repeat(63), interactionsUrl: "https://tidings.example.com/interactions" };
    const alert = { url: "https://tidings.example.com/alert/e30.c2ln", buttons };
    const told: Message = { ...message, text: "long ".repeat(4_000), alert };
    const publicKey = "0".repeat(64);
    const sendWith = (name: string, settings: object, sent = told) =>
      kinds.find(({ kind }) => kind === name)!.send(sent, { ...settingsOf[name], ...settings }, context);

    test("take the place of the links in Slack, Discord and Telegram", async () => {
      for (const [name, settings] of [
        ["slack", { signingSecret: "secret" }],
        ["discord", { publicKey }],
        ["telegram", { buttons: true }],
      ] as const) {
        expect(await sendWith(name, settings)).toMatchObject({ kind: "delivered" });
        const body = JSON.stringify(receiver.take().body);
        expect(body).not.toContain("/alert/");
        for (const label of ["Acknowledge", "Snooze for an hour", "Resolve"]) expect(body).toContain(label);
        // The end of an alert has none.
        await sendWith(name, settings, message);
        expect(JSON.stringify(receiver.take().body)).not.toContain("Snooze");
      }
    });

    test("are links after all if Telegram can't post clicks to the server", async () => {
      const http = { ...buttons, interactionsUrl: "http://tidings.example.com/interactions" };
      const sent = { ...told, alert: { ...alert, buttons: http } };
      expect(await sendWith("telegram", { buttons: true }, sent)).toMatchObject({ kind: "delivered" });
      const { body } = receiver.take();
      expect(body).not.toHaveProperty("reply_markup");
      expect(JSON.stringify(body)).toContain("/alert/");
    });

    test("are links after all if Discord drops them", async () => {
      await using own = await destinationReceiver();
      const requests: { method: string; body: Record<string, unknown> }[] = [];
      own.answerAll(({ method, body }) => {
        requests.push({ method, body });
        return [200, { id: "77", components: [] }];
      });
      const { url } = own.settings.discord;
      expect(await sendWith("discord", { url, publicKey })).toMatchObject({
        kind: "delivered",
        reference: "77",
      });
      expect(requests).toMatchObject([{ method: "POST" }, { method: "PATCH" }]);
      expect(JSON.stringify(requests[0]!.body)).not.toContain("/alert/");
      expect(JSON.stringify(requests[1]!.body)).toContain("/alert/");
    });
  });

  test("Discord", async () => {
    const { embeds, allowed_mentions } = await isDelivered("discord");
    expect(allowed_mentions).toEqual({ parse: [] });
    expect(embeds).toEqual([
      {
        title: "💰 Payment received",
        url: message.url,
        description: event.description,
        fields: [
          { name: "Channel", value: "payments", inline: true },
          { name: "User", value: "u1", inline: true },
          { name: "plan", value: "pro", inline: true },
          { name: "note", value: "\\<!channel\\> @everyone & \\*co\\*", inline: true },
        ],
        footer: { text: "Coffee & shop" },
        timestamp: event.createdAt,
      },
    ]);
  });

  test("Telegram", async () => {
    expect(await isDelivered("telegram")).toEqual({
      chat_id: "-1001234567890",
      text: [
        `<b><a href="${message.url}">💰 Payment received</a></b>`,
        '<b>49 €</b> from <a href="https://example.com/ada?a=1&amp;b=2">Ada</a>, <code>net</code>',
        "• one\n• two",
        "<b>Channel</b>: payments\n<b>User</b>: u1\n<b>plan</b>: pro\n<b>note</b>: &lt;!channel&gt; @\u2060everyone &amp; *co*",
        "Coffee &amp; shop · January 31, 2026 at 09:30:00 UTC",
      ].join("\n\n"),
      parse_mode: "HTML",
      link_preview_options: { is_disabled: true },
    });
  });

  test("Microsoft Teams", async () => {
    const { attachments } = await isDelivered("teams");
    expect(attachments).toMatchObject([
      {
        content: {
          body: [
            { inlines: [{ text: "💰 Payment received", selectAction: { url: message.url } }] },
            // Cards have no code.
            { text: event.description!.replaceAll("`", "") },
            {
              facts: [
                { title: "Channel", value: "payments" },
                { title: "User", value: "u1" },
                { title: "plan", value: "pro" },
                { title: "note", value: "\\<!channel\\> @everyone & \\*co\\*" },
              ],
            },
            { text: "Coffee & shop · {{DATE(2026-01-31T09:30:00Z,SHORT)}} {{TIME(2026-01-31T09:30:00Z)}}" },
          ],
          actions: [{ type: "Action.OpenUrl", title: "View event", url: message.url }],
        },
      },
    ]);
  });

  const plainText = [
    "49 € from Ada (https://example.com/ada?a=1&b=2), net\n\n• one\n• two",
    "Channel: payments\nUser: u1\nplan: pro\nnote: <!channel> @everyone & *co*",
    "Coffee & shop · January 31, 2026 at 09:30:00 UTC",
  ].join("\n\n");

  test("ntfy", async () => {
    expect(await isDelivered("ntfy")).toEqual({
      topic: "tidings-topic-x1",
      title: "💰 Payment received",
      message: plainText,
      priority: 3,
      tags: ["shop"],
      click: message.url,
      actions: [{ action: "view", label: "View event", url: message.url }],
    });
    expect(await isDelivered("ntfy", { ...message, urgent: true })).toMatchObject({ priority: 5 });
  });

  test("Gotify", async () => {
    expect(await isDelivered("gotify")).toEqual({
      title: "💰 Payment received",
      message: plainText,
      priority: 5,
      extras: {
        "client::display": { contentType: "text/plain" },
        "client::notification": { click: { url: message.url } },
      },
    });
    expect(await isDelivered("gotify", { ...message, urgent: true })).toMatchObject({ priority: 8 });
  });

  test("Pushover", async () => {
    expect(await isDelivered("pushover")).toEqual({
      ...receiver.settings.pushover,
      title: "💰 Payment received",
      message: plainText,
      timestamp: "1769851800",
      priority: "0",
      url: message.url,
      url_title: "View event",
    });
    // Emergency, 2, repeats until somebody confirms it.
    expect(await isDelivered("pushover", { ...message, urgent: true })).toMatchObject({ priority: "1" });
  });

  test("Matrix", async () => {
    expect(await isDelivered("matrix")).toEqual({
      msgtype: "m.text",
      body: `💰 Payment received (${message.url})\n\n${plainText}`,
      format: "org.matrix.custom.html",
      formatted_body: [
        `<p><strong><a href="${message.url}">💰 Payment received</a></strong></p>`,
        '<p><strong>49 €</strong> from <a href="https://example.com/ada?a=1&amp;b=2">Ada</a>, <code>net</code></p>',
        "<ul><li>one</li><li>two</li></ul>",
        "<p><strong>Channel</strong>: payments<br><strong>User</strong>: u1<br><strong>plan</strong>: pro<br>",
        "<strong>note</strong>: &lt;!channel&gt; @everyone &amp; *co*</p>",
        "<p>Coffee &amp; shop · January 31, 2026 at 09:30:00 UTC</p>",
      ].join(""),
      "m.mentions": {},
    });
  });

  test("Apprise, with a key or URLs", async () => {
    const body = { title: "💰 Payment received", body: plainText, format: "text" };
    expect(await isDelivered("apprise")).toEqual({ ...body, type: "info" });
    expect(await isDelivered("apprise", { ...message, type: "silence" })).toMatchObject({ type: "warning" });
    const apprise = kinds.find(({ kind }) => kind === "apprise")!;
    const urls = { server: `${receiver.origin}/`, urls: "mailto://user:pass@example.com" };
    expect(await apprise.send(message, apprise.settings.parse(urls), context)).toMatchObject({
      kind: "delivered",
    });
    expect(receiver.take()).toMatchObject({ path: "/notify", body: { ...body, urls: urls.urls } });
    for (const settings of [{ server: receiver.origin }, { ...urls, key: "k" }]) {
      expect(apprise.settings.safeParse(settings).success).toBe(false);
    }
  });

  for (const name of names) {
    test(`${name}, also without an event, and with a rule's summary`, async () => {
      await isDelivered(name, test1);
      await isDelivered(name, summary);
      await isDelivered(name, held);
    });
  }
});

describe("the webhook", () => {
  const headersOf = () => receiver.take().headers;

  test("sends what docs/destinations.md says", async () => {
    const about = { url: message.url, urgent: false, project: message.project };
    await send("webhook");
    expect(receiver.take()).toMatchObject({
      headers: { "webhook-id": "dlv_1", "webhook-timestamp": String(Math.floor(nowMs / 1_000)) },
      body: {
        type: "event.created",
        timestamp: event.createdAt,
        data: { event, ...about, rule: { id: "r1", name: "Payments" } },
      },
    });
    await send("webhook", held);
    expect(receiver.take().body).toMatchObject({
      type: "messages.held",
      data: { title: held.title, rule: null },
    });
    await send("webhook", summary);
    expect(receiver.take().body).toEqual({
      type: "rule.summary",
      timestamp: event.createdAt,
      data: {
        title: "214 more in 5 minutes",
        text: null,
        event,
        matches: summary.matches,
        newest: [],
        ...about,
        rule: message.rule,
      },
    });
    await send("webhook", test1);
    expect(receiver.take().body).toMatchObject({ type: "webhook.test", data: { rule: null, event: null } });
  });

  test("sends an event as it is stored, whatever its tags are called", async () => {
    const tags = JSON.parse('{"__proto__":"a","constructor":"b","2":"c","1":"d"}');
    await send("webhook", { ...message, event: { ...event, tags } });
    expect(receiver.take().headers["x-raw-body"]).toContain(JSON.stringify({ ...event, tags }));
  });

  test("signs with both secrets until the previous one expires", async () => {
    const rotated = rotateWebhookSecret(receiver.settings.webhook, nowMs - 1_000);
    const verifies = (secret: string, headers: Record<string, string>) => {
      try {
        return new Webhook(secret).verify(headers["x-raw-body"]!, headers) !== null;
      } catch {
        return false;
      }
    };
    // The receiver knows the old secret only.
    expect(await webhook.send(message, rotated, context)).toMatchObject({ kind: "delivered" });
    const headers = headersOf();
    expect(headers["webhook-signature"]).toMatch(/^v1,[A-Za-z0-9+/]{43}= v1,[A-Za-z0-9+/]{43}=$/);
    expect(verifies(rotated.secret, headers)).toBe(true);
    expect(verifies(webhookSecret, headers)).toBe(true);
    expect(verifies(createWebhookSecret(), headers)).toBe(false);

    const expired: WebhookSettings = { ...rotated, previousSecretUntil: new Date(nowMs).toISOString() };
    expect(await webhook.send(message, expired, context)).toMatchObject({
      kind: "failed",
      detail: expect.stringContaining("No matching signature found"),
    });
  });

  test("has a secret, generated if none is given", () => {
    const url = "https://example.com/hook";
    const generated = webhook.settings.parse({ url }) as WebhookSettings;
    expect(generated.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(webhook.settings.parse({ url })).not.toEqual(generated);
    for (const secret of [
      "",
      "whsec_",
      "whsec_c2hvcnQ=",
      webhookSecret.slice(6),
      `whsec_${"A".repeat(100)}`,
    ]) {
      expect(webhook.settings.safeParse({ url, secret }).success).toBe(false);
    }
  });

  test("is gone if it answers 410", async () => {
    receiver.answerNext(410, "No more, thanks.");
    expect(await send("webhook")).toEqual({
      kind: "gone",
      detail: "The webhook answered 410: No more, thanks.",
    });
  });
});

describe("no event makes a request that is refused by", () => {
  const snippets = fc.constantFrom(
    ..."**|__|*|_|~~|`|```|\n|\n\n|> |>> |- |1. |# |<b>|</b>|<!channel>|<@U1>|@everyone|@alice|&amp;|&|[a](https://example.com)".split(
      "|",
    ),
    ...'[![x](https://i.example/a.png)](https://example.com)|![x](javascript:1)|[x](tg://user?id=1)|<https://a.example/"|\\'.split(
      "|",
    ),
    'mailto:"x"@example.com',
    "|a|b|\n|-|-|\n|`c`|**d**|\n",
    "[`code` **in** a link](https://example.com/?q=\"<>|')",
    "- [x] done\n  - nested\n\n    > quote\n",
    "👩‍🚀",
    "word ",
    "\u200b",
    "\ud800",
  );
  const soup = fc
    .oneof(
      fc.array(snippets, { maxLength: 30 }).map((parts) => parts.join("")),
      fc.tuple(snippets, fc.constantFrom(300, 10_000)).map(([part, length]) => part.repeat(length)),
    )
    .map((text) => text.slice(0, 10_000));
  const hostile = fc.record({
    event: validEvent,
    description: fc.option(soup),
    tags: fc.option(fc.dictionary(fc.string({ minLength: 1, maxLength: 64 }), soup, { maxKeys: 50 })),
    url: fc.constantFrom(
      message.url,
      `https://tidings.example.com/?q=${"%20x".repeat(3_000)}`,
      "http://[::1]/?\"<>|'",
    ),
    urgent: fc.boolean(),
    type: fc.constantFrom<Message["type"][]>(
      "event",
      "summary",
      "digest",
      "silence",
      "recovery",
      "threshold",
      "test",
    ),
    project: fc.constantFrom("Shop", "<!here> \ud800 @channel", "💰".repeat(80)),
  });
  const messages = hostile.map(({ event: sent, description, tags, url, urgent, type, project }) => {
    const { channel, name, ...rest } = sent;
    const full: Event = {
      ...event,
      ...rest,
      name,
      channelId: channel,
      tags: tags ?? sent.tags ?? {},
      ...(description !== null && { description }),
    };
    const about = { ...message, url, urgent, project: { slug: "shop", name: project } };
    return { ...messageOfEvent(full, about), type };
  });

  for (const name of names) {
    test(
      name,
      async () => {
        await fc.assert(
          fc.asyncProperty(messages, async (sent) => {
            const { kind, detail } = await send(name, sent);
            if (kind !== "delivered") throw new Error(detail);
            receiver.take();
          }),
          { numRuns: effort(12, 1_000) },
        );
      },
      { timeout: 600_000 },
    );
  }
});

describe("the largest event is shortened for", () => {
  for (const name of names) {
    test(name, async () => {
      for (const character of ["💰", "漢", "&", '"', "*", "\n."]) {
        const filled = (max: number) => character.repeat(max).slice(0, max).toWellFormed();
        const tags = Object.fromEntries(
          Array.from({ length: limits.tags }, (_, index) => [
            `${index}${filled(limits.tagKeyCharacters - 2)}`,
            filled(limits.tagValueCharacters),
          ]),
        );
        const largest: Event = {
          ...event,
          name: character.trim().repeat(limits.nameCharacters),
          userId: character.trim().repeat(limits.userIdCharacters),
          tags,
          description: character.repeat(limits.descriptionCharacters / character.length),
        };
        const { kind, detail } = await send(name, messageOfEvent(largest, message));
        expect([character, kind, detail]).toEqual([
          character,
          "delivered",
          expect.stringContaining("answered 200"),
        ]);
        receiver.take();
      }
    });
  }
});

describe("the answer of each service is understood", () => {
  const refusals: Record<string, { body: unknown; says: string }> = {
    webhook: { body: "Wrong tenant.", says: "The webhook answered 400: Wrong tenant." },
    slack: { body: "invalid_blocks", says: "Slack answered 400: invalid_blocks" },
    discord: {
      body: { message: "Invalid Form Body", code: 50_035, errors: { embeds: ["0"] } },
      says: 'Discord answered 400: Invalid Form Body {"embeds":["0"]}',
    },
    telegram: {
      body: { ok: false, error_code: 400, description: "Bad Request: chat not found" },
      says: "Telegram answered 400: Bad Request: chat not found",
    },
    teams: {
      body: { error: { code: "WorkflowTriggerIsNotEnabled", message: "The flow is off." } },
      says: "Microsoft Teams answered 400: The flow is off.",
    },
    ntfy: {
      body: { code: 40_009, http: 400, error: "invalid request: topic invalid" },
      says: "ntfy answered 400: invalid request: topic invalid",
    },
    gotify: {
      body: { error: "Unauthorized", errorDescription: "you need to provide a valid token" },
      says: "Gotify answered 400: you need to provide a valid token",
    },
    pushover: {
      body: { user: "invalid", errors: ["user identifier is invalid"], status: 0 },
      says: "Pushover answered 400: user identifier is invalid",
    },
    matrix: {
      body: { errcode: "M_FORBIDDEN", error: "User not in room" },
      says: "The homeserver answered 400: User not in room",
    },
    apprise: { body: { error: "Bad FORM Payload" }, says: "Apprise answered 400: Bad FORM Payload" },
  };

  const pauses: Record<string, { body?: unknown; headers?: Record<string, string> }> = {
    discord: { body: { message: "You are being rate limited.", retry_after: 7.5, global: false } },
    telegram: { body: { ok: false, error_code: 429, parameters: { retry_after: 7.5 } } },
    matrix: { body: { errcode: "M_LIMIT_EXCEEDED", retry_after_ms: 7_500 } },
    pushover: { headers: { "x-limit-app-reset": String((nowMs + 7_500) / 1_000) } },
  };

  const passing = { kind: "retry", giveUpAfterMs: 3_600_000 };
  /** Behind a proxy, which answers 404 while they are deployed. */
  const selfHosted = ["webhook", "ntfy", "gotify", "matrix", "apprise"];

  for (const name of names) {
    test(name, async () => {
      const outcome = (status: number, body: unknown = "", headers: Record<string, string> = {}) => {
        receiver.answerNext(status, body, headers);
        return send(name);
      };
      expect(await outcome(202)).toMatchObject({ kind: "delivered" });
      // Apprise answers 204 if nothing is configured under the key.
      expect(await outcome(204)).toMatchObject({ kind: name === "apprise" ? "failed" : "delivered" });

      const { body, says } = refusals[name]!;
      for (const status of [400, 401, 403, 404, 413]) {
        const detail = says.replace("400", `${status}`);
        const expected = name === "webhook" && status === 404 ? passing : { kind: "failed" };
        expect(await outcome(status, body)).toEqual({ ...expected, detail } as Outcome);
      }
      const html = { "content-type": "text/html" };
      const label = says.replace(/ answered.*/, "");
      const ofProxy = selfHosted.includes(name) ? passing : { kind: "failed" };
      expect(await outcome(404, "<html>…</html>", html)).toEqual({
        ...ofProxy,
        detail: `${label} answered 404.`,
      } as Outcome);

      for (const [status, cause] of [
        [408, { cause: "unavailable" }],
        [429, { cause: "rate-limit" }],
        [500, {}],
        [502, { cause: "unavailable" }],
        [503, { cause: "unavailable" }],
      ] as const) {
        const detail = `${label} answered ${status}.`;
        expect(await outcome(status)).toEqual({ kind: "retry", detail, ...cause });
      }
      expect(await outcome(429, "", { "retry-after": "30" })).toMatchObject({
        kind: "retry",
        retryAfterMs: 30_000,
      });
      const pause = pauses[name];
      if (pause) {
        const { retryAfterMs } = (await outcome(429, pause.body, pause.headers)) as { retryAfterMs: number };
        expect(retryAfterMs).toBeCloseTo(7_500, 0);
      }

      receiver.cutNext();
      expect(await send(name)).toMatchObject({
        kind: "retry",
        detail: expect.stringContaining("closed the connection"),
      });
      expect(await outcome(302, "", { location: `${receiver.origin}/elsewhere` })).toMatchObject({
        kind: "failed",
        detail: expect.stringContaining("answered 302. Redirects are not followed"),
      });
    });

    test(`${name}, in a private network`, async () => {
      const inner = "https://10.0.0.1";
      const kind: DestinationKind =
        name === "pushover" ? pushoverAt(inner) : kinds.find(({ kind }) => kind === name)!;
      const settings = JSON.parse(JSON.stringify(settingsOf[name]).replaceAll(receiver.origin, inner));
      const shut = { ...context, policy: { allowPrivate: false } };
      expect(await kind.send(message, kind.settings.parse(settings), shut)).toEqual({
        kind: "failed",
        detail: "10.0.0.1 is not a public address. Only public addresses are allowed.",
      });
    });
  }

  test("a deleted webhook of Slack or Discord is gone", async () => {
    receiver.answerNext(404, "no_service");
    expect(await send("slack")).toMatchObject({ kind: "gone" });
    receiver.answerNext(404, { message: "Unknown Webhook", code: 10_015 });
    expect(await send("discord")).toEqual({
      kind: "gone",
      detail: "Discord answered 404: Unknown Webhook",
    });
  });

  test("a long answer is shortened to one line", async () => {
    receiver.answerNext(400, `first\nsecond\u0007 ${"💰".repeat(500)}`);
    const { detail } = await send("slack");
    expect(detail).toStartWith("Slack answered 400: first second 💰");
    expect(detail).toEndWith("💰…");
    expect(detail.length).toBeWithin(238, 241);
  });
});

describe("secrets", () => {
  const secrets: Record<string, string[]> = {
    webhook: ["tidings-0123456789", webhookSecret],
    slack: ["T00000000", "B00000000", "ABCDEFGHIJKLMNOPQRSTUVWX"],
    discord: ["1234567890", "the-token-of_discord"],
    telegram: ["AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"],
    teams: ["0123456789abcdef", "signature-of-teams"],
    ntfy: ["tidings-topic-x1", "tk_0123456789abcdefghijklmnopqrs"],
    gotify: ["A-token.of-gotify"],
    pushover: ["azGDORePK8gMaC0QOYAMyEEuzJnyUi", "uQiRzpo4DXghDmr9QzzfQu27cmVRsG"],
    matrix: ["syt_token_of_matrix"],
    apprise: ["key-of-apprise"],
  };
  for (const name of names) {
    test(`of ${name} are not in what is reported, even if the service repeats them`, async () => {
      receiver.echoNext();
      const { detail } = await send(name);
      expect(detail).toContain("answered 400");
      expect(detail).toContain("•••");
      for (const secret of secrets[name]!) expect(detail).not.toContain(secret);
    });
  }

  test("in the path of a URL are hidden wherever they appear", async () => {
    receiver.answerNext(400, "No such hook: B00000000/ABCDEFGHIJKLMNOPQRSTUVWX");
    expect(await send("slack")).toMatchObject({ detail: "Slack answered 400: No such hook: •••/•••" });
  });
});

describe("an earlier message of a burst", () => {
  afterEach(() => receiver.deleteMessages());

  const first = async (name: string) => {
    const sent = await send(name);
    receiver.take();
    if (sent.kind !== "delivered") throw new Error(sent.detail);
    return sent.reference;
  };

  for (const name of ["discord", "telegram"]) {
    test(`is updated on ${name}, or sent anew if it was deleted`, async () => {
      const previous = (await first(name))!;
      expect(await send(name, summary, { previous })).toMatchObject({
        kind: "delivered",
        reference: previous,
      });
      const { method, path, body } = receiver.take();
      if (name === "discord") {
        expect({ method, path }).toEqual({
          method: "PATCH",
          path: `/api/webhooks/1234567890/the-token-of_discord/messages/${previous}`,
        });
      } else {
        expect(path).toEndWith("/editMessageText");
        expect(body).toMatchObject({ message_id: Number(previous) });
      }
      receiver.deleteMessages();
      expect(await send(name, summary, { previous })).toMatchObject({
        kind: "delivered",
        reference: expect.any(String),
      });
      expect(receiver.take().path).toMatch(name === "discord" ? /\?wait=true$/ : /\/sendMessage$/);

      receiver.answerNext(503);
      expect(await send(name, summary, { previous })).toMatchObject({ kind: "retry" });
    });
  }

  test("that Telegram has updated already counts as delivered", async () => {
    const description = "Bad Request: message is not modified: specified new message content is the same";
    receiver.answerNext(400, { ok: false, error_code: 400, description });
    expect(await send("telegram", summary, { previous: "7" })).toMatchObject({
      kind: "delivered",
      reference: "7",
    });
  });

  test("is replaced on Matrix, where a retry is stored once", async () => {
    const previous = (await first("matrix"))!;
    expect(await first("matrix")).toBe(previous);
    expect(await send("matrix", summary, { previous })).toMatchObject({
      kind: "delivered",
      reference: previous,
    });
    const { path, body } = receiver.take();
    expect(path).toEndWith("/dlv_2");
    expect(body).toMatchObject({
      body: "* 214 more in 5 minutes",
      "m.new_content": { body: expect.stringContaining("214 more in 5 minutes") },
      "m.relates_to": { rel_type: "m.replace", event_id: previous },
    });
  });

  test("is followed by a new one elsewhere", async () => {
    for (const name of names.filter((name) => !["discord", "telegram", "matrix"].includes(name))) {
      const sent = await send(name, summary, { previous: "1" });
      expect(sent).toMatchObject({ kind: "delivered" });
      expect(sent).not.toHaveProperty("reference");
      receiver.take();
    }
  });
});

test("settings that could not work are rejected", () => {
  const rejected: [kind: string, settings: Record<string, unknown>][] = [
    ["webhook", { url: "ftp://example.com/" }],
    ["webhook", { url: "example.com" }],
    ["slack", { url: "" }],
    ["slack", { url: `https://example.com/${"x".repeat(2_048)}` }],
    ["discord", { url: "https://discord.com/channels/1/2" }],
    ["discord", { url: "https://discord.com/api/webhooks/1/token/slack" }],
    ["telegram", { token: "110201543", chat: "1" }],
    ["telegram", { token: "1:a/../b", chat: "1" }],
    ["telegram", { token: "1:abc", chat: "my chat" }],
    ["ntfy", { topic: "a/b" }],
    ["gotify", { server: "https://example.com", token: "a\r\nx: y" }],
    ["gotify", { server: "https://example.com", token: "ä" }],
    ["pushover", { token: "a b", user: "u" }],
    ["matrix", { server: "https://example.com", token: "t", room: "#alias:example.com" }],
    ["slack", { url: "https://example.com/", channel: "#general" }],
  ];
  for (const [name, settings] of rejected) {
    const { success } = projectKinds.find(({ kind }) => kind === name)!.settings.safeParse(settings);
    expect([name, settings, success]).toEqual([name, settings, false]);
  }
});
