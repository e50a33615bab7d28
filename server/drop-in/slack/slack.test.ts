import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { IncomingWebhook } from "@slack/webhook";
import type { Event } from "../../event/event.ts";
import { type TestApp, testApp } from "../../testing/test-app.ts";
import { itemOf } from "./message.ts";
import { toMarkdown, toPlain } from "./mrkdwn.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const newest = async (channel: string): Promise<Event> => (await app.list(`?channel=${channel}`))[0]!;

test("@slack/webhook sends a message with text, blocks and attachments", async () => {
  const webhook = new IncomingWebhook(`${app.address}/slack/${app.key}`, {
    channel: "#ops",
    username: "deploybot",
    icon_emoji: ":rocket:",
  });
  expect(
    await webhook.send({
      text: "fallback",
      blocks: [
        { type: "header", text: { type: "plain_text", text: "New order" } },
        {
          type: "section",
          text: { type: "mrkdwn", text: "<!here> *A* paid <https://x.example/1|49> &amp; left" },
        },
        { type: "divider" },
      ],
      attachments: [
        {
          pretext: "pre",
          title: "Build",
          title_link: "https://x.example/12",
          fields: [{ title: "Env", value: "prod", short: true }],
        },
      ],
    }),
  ).toEqual({ text: "ok" });
  expect(await newest("ops")).toMatchObject({
    name: "New order",
    icon: ":rocket:",
    notify: true,
    tags: { Env: "prod", username: "deploybot" },
    description:
      "fallback\n\nNew order\n\n@here **A** paid [49](https://x.example/1) & left\n\npre\n\n[Build](https://x.example/12)",
  });
});

test("a plain text is a name, also from a form, and the address names the channel", async () => {
  const payload = new URLSearchParams({ payload: JSON.stringify({ text: "Deployed" }) });
  const path = `/slack/${app.key}?channel=deploys&notify=true`;
  const response = await app.request(path, { method: "POST", body: payload }, null);
  expect([response.status, await response.text()]).toEqual([200, "ok"]);
  const event = await newest("deploys");
  expect([event.name, event.notify, event.description, event.tags]).toEqual([
    "Deployed",
    true,
    undefined,
    {},
  ]);
});

test("problems are plain text", async () => {
  const send = async (key: string, body: string) => {
    const response = await app.request(`/slack/${key}`, { method: "POST", body }, null);
    return [response.status, response.headers.get("content-type"), await response.text()] as const;
  };
  expect(await send(app.key, "{}")).toEqual([
    400,
    "text/plain; charset=utf-8",
    expect.stringContaining("no_text"),
  ]);
  expect(await send("tdg_sk_x", '{"text":"a"}')).toEqual([
    401,
    "text/plain; charset=utf-8",
    expect.stringContaining("not a Tidings API key"),
  ]);
  expect((await send(app.key, "{"))[0]).toBe(400);
});

test("a key is accepted in this path only", async () => {
  expect((await app.request(`/slack/x?key=${app.key}`, { method: "POST", body: "{}" }, null)).status).toBe(
    400,
  );
  expect((await app.request(`/api/slack/${app.key}`, { method: "POST", body: "{}" }, null)).status).toBe(400);
});

test("no response has the key of its address in it", async () => {
  const requests: [method: string, path: string][] = [
    ["GET", `/slack/${app.key}`],
    ["PUT", `/slack/${app.key}?channel=ops`],
    ["GET", `/slack/${app.key}/more`],
    ["POST", `/slack/${app.key}/more`],
    ["GET", `/slack/${app.key.replace("_", "%5F")}/more`],
  ];
  for (const [method, path] of requests) {
    const response = await app.request(path, { method }, null);
    const text = JSON.stringify([...response.headers]) + (await response.text());
    expect([method, path, response.status, text.includes(app.key.slice(7))]).toEqual([
      method,
      path,
      path.includes("more") ? 404 : 405,
      false,
    ]);
  }
});

test("authors, images, buttons with addresses and footers are in the description", () => {
  const button = (text: string, url?: string) => ({
    type: "button",
    text: { type: "plain_text", text },
    url,
  });
  const { event } = itemOf(
    {
      text: "Deploy failed",
      blocks: [
        { type: "section", text: { text: "main" }, accessory: button("Open", "https://x.example/1?a=1&b=2") },
        { type: "actions", elements: [button("Retry", "https://x.example/retry"), button("Mute")] },
        { type: "image", alt_text: "Graph", image_url: "https://x.example/graph.png" },
      ],
      attachments: [
        {
          author_name: "Ada",
          author_link: "https://x.example/ada",
          text: "It broke",
          image_url: "https://x.example/shot.png",
          actions: [{ type: "button", text: "Logs", url: "https://x.example/logs" }],
          footer: "ci",
        },
      ],
    },
    { channel: "slack", notify: false },
    Date.now(),
  )!;
  expect(event!.description).toBe(
    [
      "Deploy failed",
      "main\n[Open](https://x.example/1?a=1&b=2)",
      "[Retry](https://x.example/retry)",
      "[Graph](https://x.example/graph.png)",
      "[Ada](https://x.example/ada)",
      "It broke",
      "[Logs](https://x.example/logs)",
      "[Image](https://x.example/shot.png)",
      "ci",
    ].join("\n\n"),
  );
});

describe("mrkdwn", () => {
  const cases: [mrkdwn: string, markdown: string, plain: string][] = [
    ["*bold* ~gone~ _it_", "**bold** ~~gone~~ _it_", "*bold* ~gone~ _it_"],
    [
      "<https://x.example|a [b]> and <https://y.example>",
      "[a \\[b\\]](https://x.example) and https://y.example",
      "a [b] and https://y.example",
    ],
    ["`*code*` 2*3*4", "`*code*` 2*3*4", "`*code*` 2*3*4"],
    ["<@U1|ada> <#C1|ops> <!date^1^{date}|noon>", "@ada #ops noon", "@ada #ops noon"],
    ["1 &lt; 2 &amp;amp; 3", "1 < 2 &amp; 3", "1 < 2 &amp; 3"],
  ];
  test.each(cases)("%s", (mrkdwn, markdown, plain) => {
    expect([toMarkdown(mrkdwn), toPlain(mrkdwn)]).toEqual([markdown, plain]);
  });
});

test("a name comes from the first text that there is", () => {
  const nameOf = (message: Record<string, unknown>) =>
    itemOf(message, { channel: "slack", notify: false }, 0)?.event?.name ?? null;
  expect(nameOf({ blocks: [{ type: "section", text: { type: "mrkdwn", text: "\nonly *blocks*" } }] })).toBe(
    "only *blocks*",
  );
  expect(nameOf({ attachments: [{ fallback: "fb", text: "body", title: "title" }] })).toBe("title");
  expect(nameOf({ attachments: [{ fallback: "fb" }] })).toBe("fb");
  expect(nameOf({ blocks: [{ type: "divider" }] })).toBeNull();
  const rich = {
    type: "rich_text",
    elements: [
      {
        type: "rich_text_section",
        elements: [
          { type: "text", text: "1 < 2 " },
          { type: "link", url: "https://x.example" },
        ],
      },
    ],
  };
  expect(nameOf({ blocks: [rich] })).toBe("1 < 2 https://x.example");
});

test("of a text that Slack would cut, only the beginning is converted", () => {
  const item = itemOf({ text: `Long\n${"&amp;".repeat(1_000_000)}` }, { channel: "c", notify: false }, 0);
  // 40,000 characters of it, which are 8,000 after the conversion.
  expect(String(item?.event?.description).length).toBeLessThan(8_010);
  expect(item?.event?.name).toBe("Long");
});
