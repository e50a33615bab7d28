import { z } from "@hono/zod-openapi";
import { jsonBytes, shorten } from "../shorten.ts";
import { defineKind, tokenSetting, urlSetting } from "./kind.ts";
import { layOut, titleOf } from "./layout.ts";
import { escapeHtml, htmlLink, type Markup, plainText } from "./markup.ts";
import { mentionSetting, mentionsIn } from "./mention.ts";
import { isFromProxy, joinUrl, memberOf, outcomeOf, type Service, sendJson } from "./response.ts";

const settings = z.strictObject({
  server: urlSetting({ title: "Homeserver", description: "Such as https://matrix.example.com." }),
  token: tokenSetting({
    title: "Access token",
    description: "Of the account that sends. In Element: All settings, Help & About, Access Token.",
    secret: true,
  }),
  room: z
    .string()
    .regex(/^![^\s\p{Cc}]{1,254}$/u, "must begin with !")
    .meta({
      title: "Room ID",
      description: "In Element: Room settings, Advanced. The account must have joined the room.",
    }),
  mention: mentionSetting({
    pattern: /^(@room|@[\w.=/+-]+:[\w.:[\]-]+)$/,
    who: "@room, or users (@ada:example.com)",
  }),
});

const service: Service = {
  name: "The homeserver",
  reason: ({ json }) => memberOf(json, "error"),
  isPassing: isFromProxy,
  // Older homeservers send this member, newer ones the header: https://spec.matrix.org/latest/client-server-api/#rate-limiting
  retryAfterMs: ({ json }) => Number(memberOf(json, "retry_after_ms") ?? Number.NaN),
  reference: ({ json }) => memberOf(json, "event_id"),
};

/** https://spec.matrix.org/latest/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid */
export const matrix = defineKind({
  kind: "matrix",
  label: "Matrix",
  settings,
  isInOrder: true,
  async send(message, { server, token, room, mention }, context) {
    const mentions = mentionsIn(message, mention);
    const before = mentions.length === 0 ? "" : `${mentions.join(" ")}\n`;
    const html = mentions.length === 0 ? "" : `<p>${mentions.map(pillOf).join(" ")}</p>`;
    const content = {
      msgtype: "m.text",
      body: before + layOut(message, plainText, plainBytesMax, jsonBytes),
      format: "org.matrix.custom.html",
      formatted_body: html + layOut(message, matrixHtml, htmlBytesMax, jsonBytes),
      ...mentioning(mentions),
    };
    const { previous } = context;
    const body =
      previous === undefined
        ? content
        : {
            // For clients without replacements: https://spec.matrix.org/latest/client-server-api/#event-replacements
            msgtype: "m.text",
            body: `* ${shorten(titleOf(message), titleBytesMax, jsonBytes)}`,
            ...mentioning([]),
            "m.new_content": content,
            "m.relates_to": { rel_type: "m.replace", event_id: previous },
          };
    // With the same transaction id, the homeserver stores a repeated message once.
    const path = [room, "send", "m.room.message", message.id].map(encodeURIComponent).join("/");
    const address = joinUrl(server, `/_matrix/client/v3/rooms/${path}`);
    const headers = { authorization: `Bearer ${token}` };
    const outcome = outcomeOf(await sendJson("PUT", address, body, context, headers), service, context);
    if (outcome.kind !== "delivered" || previous === undefined) return outcome;
    // A replacement always names the first message.
    return { ...outcome, reference: previous };
  },
});

/**
 * Only these are mentioned, whatever the text has:
 * https://spec.matrix.org/latest/client-server-api/#user-and-room-mentions
 */
function mentioning(mentions: string[]) {
  const users = mentions.filter((who) => who !== "@room");
  return {
    "m.mentions": {
      ...(mentions.includes("@room") && { room: true }),
      ...(users.length > 0 && { user_ids: users }),
    },
  };
}

function pillOf(who: string): string {
  return who === "@room"
    ? who
    : `<a href="https://matrix.to/#/${encodeURIComponent(who)}">${escapeHtml(who)}</a>`;
}

/** A whole event has at most 65,536 bytes: https://spec.matrix.org/latest/client-server-api/#size-limits */
const htmlBytesMax = 32_000;
const plainBytesMax = 16_000;
const titleBytesMax = 2_000;

/** https://spec.matrix.org/latest/client-server-api/#mroommessage-msgtypes */
export const matrixHtml: Markup = {
  ...plainText,
  escape: escapeHtml,
  escapeCode: escapeHtml,
  lineBreak: "<br>",
  gap: "",
  paragraph: ["<p>", "</p>"],
  strong: ["<strong>", "</strong>"],
  emphasis: ["<em>", "</em>"],
  deleted: ["<del>", "</del>"],
  code: ["<code>", "</code>"],
  codeBlock: ["<pre><code>", "</code></pre>"],
  quote: ["<blockquote>", "</blockquote>"],
  quotePrefix: "",
  list: (isOrdered) => (isOrdered ? ["<ol>", "</ol>"] : ["<ul>", "</ul>"]),
  item: ["<li>", "</li>"],
  itemGap: "",
  bullet: () => "",
  link: htmlLink,
};
