import { afterAll, beforeAll, expect, test } from "bun:test";
import { createServer } from "node:net";
import type { Event } from "../event/event.ts";
import { type SmtpInbox, smtpInbox } from "../testing/smtp-inbox.ts";
import { createMailer, type Mailer, renderEmail } from "./email.ts";
import { type Message, messageOfEvent } from "./message.ts";
import { messageOfNotification } from "./notification-message.ts";

const event: Event = {
  id: "019aa0e1-7b7c-7000-8000-000000000001",
  name: "Payment received",
  channelId: "payments",
  userId: "用户 42",
  icon: "💰",
  notify: true,
  tags: { plan: "pro", note: "two\nlines" },
  description: "**12.50 €** for `pro`, gräzie",
  createdAt: "2026-11-21T11:45:02.000Z",
};
const eventUrl = "https://tidings.example.com/p/default/events/019aa0e1";
const baseUrl = "https://tidings.example.com";
const settingsUrl = `${baseUrl}/account/notifications`;

let inbox: SmtpInbox;
let mailer: Mailer;
beforeAll(async () => {
  inbox = await smtpInbox();
  mailer = createMailer(inbox.url, "Tidings 🐦 <tidings@example.com>");
});
afterAll(async () => {
  mailer.close();
  await inbox.close();
});

function render(change: Partial<Event> = {}) {
  return renderEmail(messageOf({ ...event, ...change }), { baseUrl });
}

function messageOf(of: Event, about: { project?: Message["project"]; url?: string } = {}): Message {
  const project = { slug: "default", name: "My shop" };
  return messageOfEvent(of, { id: "1", url: eventUrl, project, rule: null, urgent: false, ...about });
}

test("an event arrives with its subject, its text and its tags", async () => {
  const outcome = await mailer.send({ ...render(), to: "ann@example.com" });
  expect(outcome).toMatchObject({
    kind: "delivered",
    detail: expect.stringMatching(/^The mail server responded: 250/),
  });
  const email = await inbox.next();
  expect(email).toMatchObject({
    from: "tidings@example.com",
    to: ["ann@example.com"],
    subject: "💰 Payment received · payments",
    headers: {
      from: "Tidings 🐦 <tidings@example.com>",
      to: "ann@example.com",
      "auto-submitted": "auto-generated",
      "mime-version": "1.0",
    },
  });
  expect(email.headers["message-id"]).toBe("<1@tidings.example.com>");
  expect(email.headers["list-id"]).toBe('"My shop" <default.tidings.example.com>');
  for (const name of ["importance", "x-priority", "references"])
    expect(email.headers).not.toHaveProperty(name);
  expect(email.text).toBe(`💰 Payment received
payments · 用户 42
November 21, 2026 at 11:45:02 UTC

plan: pro
note: two
lines

12.50 € for pro, gräzie

View event: ${eventUrl}

-- 
You get this email because you are a member of My shop.
Change notification settings: ${settingsUrl}
`);
  expect(email.html).toBe(render().html);
  for (const part of [
    "💰",
    "Payment received",
    "用户 42",
    "two\nlines",
    "<strong>12.50 €</strong> for <code",
    `href="${eventUrl}"`,
    `href="${settingsUrl}"`,
  ]) {
    expect(email.html).toContain(part);
  }
});

test("a long message arrives unchanged", async () => {
  const description = Array.from({ length: 9_000 }, (_, i) => String.fromCodePoint(0x1f400 + (i % 60))).join(
    "",
  );
  await mailer.send({ ...render({ description: `${description}\n.\n..\n=3D end ` }), to: "ann@example.com" });
  const { text, html } = await inbox.next();
  expect(text).toContain(`${description}\n.\n..\n=3D end \n`);
  expect(html).toBe(render({ description: `${description}\n.\n..\n=3D end ` }).html);
});

test("Markdown becomes HTML that can't do harm, and loads no image", () => {
  const description = [
    "# Down",
    "- [runbook](https://example.com/run?a=1&b=2)",
    "- ![graph](https://example.com/graph.png)",
    "- [bad](javascript:alert(1))",
    "",
    "```\n<b>log</b>\n```",
    "> quoted",
  ].join("\n");
  const { html, text } = render({ description });
  expect(html).toContain("<strong>Down</strong>");
  expect(html).toContain('<a href="https://example.com/run?a=1&amp;b=2">runbook</a>');
  expect(html).toContain('<a href="https://example.com/graph.png">graph</a>');
  expect(html).toContain("&lt;b&gt;log&lt;/b&gt;");
  expect(html).toContain("<blockquote");
  expect(html).not.toMatch(/<img|javascript:/);
  expect(text).toContain("Down\n\n• runbook (https://example.com/run?a=1&b=2)\n• graph");
});

test("an urgent message is marked, also for the mail program", () => {
  const message = { ...messageOf(event), urgent: true };
  const { subject, headers, text } = renderEmail(message, { baseUrl });
  expect(subject).toBe("🚨 💰 Payment received · payments");
  expect(text).toStartWith("🚨 💰 Payment received\n");
  expect(headers).toMatchObject({ Importance: "high", "X-Priority": "1 (Highest)" });
});

test("times are in the reader's zone", () => {
  const { text } = renderEmail(messageOf(event), { baseUrl, timeZone: "Asia/Kathmandu" });
  expect(text).toContain("November 21, 2026 at 17:30:02 GMT+5:45");
});

test("a summary is in the thread of the event that began the burst, and lists the newest", async () => {
  const about = {
    id: "2",
    baseUrl,
    project: { slug: "default", name: "My shop" },
    ruleId: "r1",
    urgent: false,
  };
  const rule = { id: "r1", name: "Payments" };
  const first = messageOfEvent(event, { ...about, url: eventUrl, rule });
  const newest = { ...event, id: "019aa0e1-7b7c-7000-8000-000000000002", name: "Payment lost" };
  const atMs = Date.parse("2026-11-21T11:50:02Z");
  const summary = messageOfNotification(
    {
      type: "summary",
      atMs,
      count: 8,
      total: 9,
      fromMs: atMs - 300_000,
      firstId: event.id,
      newestIds: [newest.id],
      groups: [
        { channel: "payments", name: "Payment received", count: 7 },
        { channel: "payments", name: "Payment lost", count: 1 },
      ],
      rule: { name: "Payments", q: "" },
    },
    { event, newest: [newest] },
    about,
  );
  const email = renderEmail({ ...summary, first }, { baseUrl });
  await mailer.send({ ...renderEmail(first, { baseUrl }), to: "ann@example.com" });
  await mailer.send({ ...email, to: "ann@example.com" });
  const [one, two] = [await inbox.next(), await inbox.next()];
  expect(one.headers.references).toBe(`<r1.${event.id}@tidings.example.com>`);
  expect(two.headers.references).toBe(one.headers.references);
  expect(two.subject).toBe(`Re: ${one.subject}`);
  expect(email.text).toContain("Payments: 8 more in 5 minutes");
  expect(email.text).toContain("• Payment received in payments: 7\n• Payment lost in payments: 1");
  expect(email.text).toContain("Newest\n\nPayment lost\npayments · 用户 42 · Nov 21, 2026, 11:45");
  expect(email.html).toContain(`${baseUrl}/p/default/events/${newest.id}`);
});

test("missing fields are left out", () => {
  const bare = render({ icon: "invoice.svg", userId: "", tags: {}, description: "" });
  expect(bare.subject).toBe("Payment received · payments");
  expect(bare.text).toStartWith(
    "Payment received\npayments\nNovember 21, 2026 at 11:45:02 UTC\n\nView event:",
  );
  expect(bare.html).not.toContain("invoice.svg");
  expect(bare.html).not.toContain("undefined");
});

test.each(["💰", "🇨🇭", "👩‍👩‍👧", "1️⃣", "❤️", "☎"])("the subject starts with the icon %s", (icon) => {
  expect(render({ icon }).subject).toBe(`${icon} Payment received · payments`);
});

test.each(["invoice.svg", "💰 paid", "1", ""])("the icon %p is not an emoji and is left out", (icon) => {
  expect(render({ icon }).subject).toBe("Payment received · payments");
});

test("hostile texts stay text", () => {
  const hostile = `"><script>alert(1)</script><img src=x onerror='alert(1)'>&`;
  const all = {
    name: hostile,
    channelId: hostile,
    userId: hostile,
    description: hostile,
  };
  const { html } = renderEmail(
    messageOf(
      { ...event, ...all, tags: { [hostile]: hostile } },
      { project: { slug: "default", name: hostile }, url: `https://example.com/${hostile}` },
    ),
    { baseUrl: `https://example.com/${hostile}`, unsubscribeUrl: `https://example.com/${hostile}` },
  );
  expect(html).not.toContain("<script");
  expect(html).not.toContain("<img");
  // As many elements and attributes as with harmless texts.
  const elements = (page: string) => page.match(/<[a-z]+/g)?.length;
  const attributes = (page: string) => page.match(/="/g)?.length;
  const harmless = renderEmail(messageOf({ ...event, tags: { a: "b" }, description: "text" }), {
    baseUrl,
    unsubscribeUrl: "https://example.com/unsubscribe/token",
  }).html;
  expect(elements(html)).toBe(elements(harmless));
  expect(attributes(html)).toBe(attributes(harmless));
});

for (const end of ["\r\n", "\n", "\r", "\u2028", "\0"]) {
  test(`a name with ${JSON.stringify(end)} adds no header`, async () => {
    const email = render({ name: `Paid${end}Bcc: eve@example.com${end}${end}body` });
    expect(email.subject).toBe("💰 Paid Bcc: eve@example.com body · payments");
    await mailer.send({ ...email, to: "ann@example.com" });
    const { subject, headers, to } = await inbox.next();
    expect(subject).toBe("💰 Paid Bcc: eve@example.com body · payments");
    expect(headers).not.toHaveProperty("bcc");
    expect(to).toEqual(["ann@example.com"]);
  });
}

for (const to of [
  "ann@example.com\r\nBcc: eve@example.com",
  "ann@example.com, eve@example.com",
  "ann@example.com> RCPT TO:<eve@example.com",
  "Team: ann@example.com;",
  "ann",
  "",
]) {
  test(`${JSON.stringify(to)} is not a single address, and gets nothing`, async () => {
    const before = inbox.received.length;
    expect(await mailer.send({ ...render(), to })).toEqual({
      kind: "failed",
      detail: `${JSON.stringify(to)} is not an email address.`,
    });
    expect(inbox.received.length).toBe(before);
  });
}

test("550 fails permanently, 451 is retried, and the next message is delivered", async () => {
  inbox.refuseNext(550);
  inbox.refuseNext(451);
  const email = { ...render(), to: "ann@example.com" };
  expect(await mailer.send(email)).toEqual({
    kind: "failed",
    detail: "The mail server responded: 550 Refused on purpose.",
  });
  expect(await mailer.send(email)).toEqual({
    kind: "retry",
    detail: "The mail server responded: 451 Refused on purpose.",
  });
  expect(await mailer.send(email)).toMatchObject({ kind: "delivered" });
  await inbox.next();
});

test("many concurrent messages all arrive", async () => {
  const addresses = Array.from({ length: 40 }, (_, i) => `member${i}@example.com`);
  const outcomes = await Promise.all(addresses.map((to) => mailer.send({ ...render(), to })));
  expect(outcomes.filter(({ kind }) => kind === "delivered")).toHaveLength(40);
  const arrived: string[] = [];
  for (const _ of addresses) arrived.push(...(await inbox.next()).to);
  expect(arrived.toSorted()).toEqual(addresses.toSorted());
});

test("a mail server gets its password, and a wrong one is retried", async () => {
  await using closed = await smtpInbox({ auth: { user: "tidings@example.com", password: "p:a/s s" } });
  const knowing = createMailer(closed.url, "tidings@example.com");
  expect(await knowing.send({ ...render(), to: "ann@example.com" })).toMatchObject({ kind: "delivered" });
  expect((await closed.next()).subject).toBe("💰 Payment received · payments");
  knowing.close();
  const mistaken = createMailer(closed.url.replace("p%3Aa", "wrong"), "tidings@example.com");
  expect(await mistaken.send({ ...render(), to: "ann@example.com" })).toMatchObject({
    kind: "retry",
    detail: expect.stringContaining("rejected the sign-in: 535"),
  });
  mistaken.close();
});

test("a mail server that is down or hangs up is retried", async () => {
  const gone = await smtpInbox();
  await gone.close();
  const rude = createServer((socket) => socket.end());
  await new Promise<void>((resolve) => rude.listen(0, "127.0.0.1", resolve));
  const { port } = rude.address() as { port: number };
  for (const url of [gone.url, `smtp://127.0.0.1:${port}`]) {
    const hopeful = createMailer(url, "tidings@example.com");
    expect(await hopeful.send({ ...render(), to: "ann@example.com" })).toMatchObject({
      kind: "retry",
      detail: expect.stringContaining("can't be reached"),
    });
    hopeful.close();
  }
  rude.close();
});

test("a subject that looks encoded arrives as it was written", async () => {
  for (const subject of ["=?utf-8?Q?Your_bank?= · payments", `${"=?utf-8?B?QQ==?= 💰 ".repeat(12)}end`]) {
    const outcome = await mailer.send({ ...render(), subject, to: "ann@example.com" });
    expect(outcome.kind).toBe("delivered");
    expect((await inbox.next()).subject).toBe(subject);
  }
});
