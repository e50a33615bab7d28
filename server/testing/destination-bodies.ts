/** What services accept as a message, strictly by their documentation. */
import { z } from "@hono/zod-openapi";
import { htmlFault, mrkdwnFault } from "../e2e/browser/markup-faults.ts";

/** Text with a size that several services state in characters, which here are the smaller or the larger unit. */
const text = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((value) => value.isWellFormed(), "is broken");
const filled = (max: number) => text(max).refine((value) => value.trim() !== "", "is blank");
const url = (max: number) => z.url({ protocol: /^https?$/ }).max(max);
export const bytes = (value: unknown) =>
  Buffer.byteLength(typeof value === "string" ? value : JSON.stringify(value));

// https://docs.slack.dev/reference/block-kit/blocks
const mrkdwn = (max: number) =>
  z.strictObject({
    type: z.literal("mrkdwn"),
    text: filled(max).superRefine((value, context) => {
      const fault = mrkdwnFault(value);
      if (fault !== null) context.addIssue({ code: "custom", message: fault });
    }),
    verbatim: z.literal(true),
  });

const slackPlain = (max: number) =>
  z.strictObject({ type: z.literal("plain_text"), text: filled(max), emoji: z.literal(false) });

// https://docs.slack.dev/reference/block-kit/block-elements/button-element
const slackButton = z.strictObject({
  type: z.literal("button"),
  action_id: z.string().max(255),
  text: slackPlain(75),
  value: z.string().max(2_000),
});

// https://docs.slack.dev/messaging/formatting-message-text#special-mentions
const slackMentions = z.strictObject({
  type: z.literal("mrkdwn"),
  text: z.string().regex(/^(<(!here|!channel|@[UW][A-Z0-9]+|!subteam\^S[A-Z0-9]+)>( |$))+$/),
  verbatim: z.literal(true),
});

export const slackBody = z.strictObject({
  text: filled(4_000),
  blocks: z
    .array(
      z.union([
        z.strictObject({ type: z.literal("section"), text: z.union([mrkdwn(3_000), slackMentions]) }),
        z.strictObject({
          type: z.literal("section"),
          fields: z
            .array(z.union([mrkdwn(2_000), slackPlain(2_000)]))
            .min(1)
            .max(10),
        }),
        z.strictObject({ type: z.literal("image"), image_url: url(3_000), alt_text: filled(2_000) }),
        z.strictObject({ type: z.literal("context"), elements: z.array(mrkdwn(3_000)).min(1).max(10) }),
        // https://docs.slack.dev/reference/block-kit/blocks/actions-block
        z.strictObject({
          type: z.literal("actions"),
          block_id: z.string().max(255),
          elements: z.array(slackButton).min(1).max(25),
        }),
      ]),
    )
    .min(1)
    .max(50),
  unfurl_links: z.literal(false),
  unfurl_media: z.literal(false),
});

// https://discord.com/developers/docs/resources/message#embed-object
const embed = z
  .strictObject({
    title: filled(256),
    url: url(2_048).optional(),
    description: filled(4_096).optional(),
    fields: z.array(z.strictObject({ name: filled(256), value: filled(1_024), inline: z.boolean() })).max(25),
    footer: z.strictObject({ text: filled(2_048) }),
    timestamp: z.iso.datetime(),
    color: z.int().min(0).max(0xff_ff_ff).optional(),
    image: z.strictObject({ url: url(2_048) }).optional(),
  })
  .refine(({ title, description = "", fields, footer }) => {
    const texts = [title, description, footer.text, ...fields.flatMap(({ name, value }) => [name, value])];
    return texts.join("").length <= 6_000;
  }, "is longer than 6,000 characters");

// https://discord.com/developers/docs/resources/message#allowed-mentions-object
const snowflake = /^\d{15,20}$/;
// https://docs.discord.com/developers/components/reference
const discordRow = z.strictObject({
  type: z.literal(1),
  components: z
    .array(
      z.strictObject({
        type: z.literal(2),
        style: z.int().min(1).max(4),
        label: filled(80),
        custom_id: z.string().min(1).max(100),
        disabled: z.boolean().optional(),
      }),
    )
    .min(1)
    .max(5)
    .refine(
      (buttons) => new Set(buttons.map(({ custom_id }) => custom_id)).size === buttons.length,
      "has two buttons of one custom_id",
    ),
});

export const discordBody = z
  .strictObject({
    embeds: z.array(embed).min(1).max(10),
    content: filled(2_000).optional(),
    components: z.array(discordRow).min(1).max(5).optional(),
    allowed_mentions: z.strictObject({
      parse: z.array(z.enum(["roles", "users", "everyone"])),
      roles: z.array(z.string().regex(snowflake)).max(100).optional(),
      users: z.array(z.string().regex(snowflake)).max(100).optional(),
    }),
  })
  .refine(
    ({ content, allowed_mentions }) =>
      (content !== undefined) === Object.values(allowed_mentions).some((each) => each!.length > 0),
    "mentions somebody without a text",
  );

// https://core.telegram.org/bots/api#html-style
const telegramTags = ["b", "i", "s", "code", "pre", "blockquote", "a"];
/** https://core.telegram.org/bots/api#inlinekeyboardbutton */
const telegramButtons = z.strictObject({
  inline_keyboard: z.array(
    z.array(
      z.strictObject({
        text: filled(100),
        callback_data: z.string().refine((text) => text !== "" && Buffer.byteLength(text) <= 64),
      }),
    ),
  ),
});

/** https://core.telegram.org/bots/api#setwebhook */
export const telegramWebhookBody = z.strictObject({
  url: z.url({ protocol: /^https$/ }),
  secret_token: z.string().regex(/^[\w-]{1,256}$/),
  allowed_updates: z.array(z.literal("callback_query")),
});

/** https://core.telegram.org/bots/api#editmessagereplymarkup */
export const telegramMarkupBody = z.strictObject({
  chat_id: z.int(),
  message_id: z.int(),
  reply_markup: telegramButtons,
});

export const telegramBody = z.strictObject({
  chat_id: z.string(),
  message_id: z.int().optional(),
  message_thread_id: z.int().optional(),
  text: filled(4_096).superRefine((value, context) => {
    const fault = htmlFault(value, telegramTags, { isFlat: true });
    // The first line can be for those who are mentioned.
    const outsideCode = value
      .replace(/^@\w{5,32}( @\w{5,32})*\n/, "")
      .replace(/<(code|pre)>[^<]*<\/\1>/g, " ");
    const mention = outsideCode.replace(/<[^>]*>/g, "").match(/(?<!\w)@\w+/);
    if (fault !== null) context.addIssue({ code: "custom", message: `can't parse entities: ${fault}` });
    if (mention) context.addIssue({ code: "custom", message: `mentions ${mention[0]}` });
  }),
  parse_mode: z.literal("HTML"),
  // https://core.telegram.org/bots/api#linkpreviewoptions
  link_preview_options: z.union([
    z.strictObject({ is_disabled: z.literal(true) }),
    z.strictObject({
      url: url(2_048),
      prefer_large_media: z.literal(true),
      show_above_text: z.literal(true),
    }),
  ]),
  reply_markup: telegramButtons.optional(),
});

// https://adaptivecards.io/explorer
const openUrl = { type: z.literal("Action.OpenUrl"), url: url(2_048) };
const cardElement = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("RichTextBlock"),
    inlines: z.array(
      z.strictObject({
        type: z.literal("TextRun"),
        text: filled(1_000),
        size: z.enum(["Small", "Default", "Medium", "Large", "ExtraLarge"]),
        weight: z.enum(["Lighter", "Default", "Bolder"]),
        color: z.literal("Attention").optional(),
        selectAction: z.strictObject(openUrl).optional(),
      }),
    ),
  }),
  z.strictObject({
    type: z.literal("TextBlock"),
    text: filled(28_000),
    wrap: z.literal(true),
    isSubtle: z.boolean().optional(),
    size: z.literal("Small").optional(),
  }),
  z.strictObject({ type: z.literal("Image"), url: url(2_048), altText: filled(1_000) }),
  z.strictObject({
    type: z.literal("FactSet"),
    facts: z.array(z.strictObject({ title: filled(1_000), value: filled(1_000) })).min(1),
  }),
]);
export const teamsBody = z
  .strictObject({
    type: z.literal("message"),
    attachments: z.tuple([
      z.strictObject({
        contentType: z.literal("application/vnd.microsoft.card.adaptive"),
        contentUrl: z.null(),
        content: z.strictObject({
          type: z.literal("AdaptiveCard"),
          $schema: z.literal("http://adaptivecards.io/schemas/adaptive-card.json"),
          version: z.enum(["1.2", "1.3", "1.4", "1.5"]),
          body: z.array(cardElement).min(1),
          actions: z.array(z.strictObject({ ...openUrl, title: filled(100) })).optional(),
          // https://learn.microsoft.com/microsoftteams/platform/task-modules-and-cards/cards/cards-format
          msteams: z.strictObject({
            width: z.literal("Full"),
            entities: z
              .array(
                z.strictObject({
                  type: z.literal("mention"),
                  text: z.string().regex(/^<at>[^<>]+<\/at>$/),
                  mentioned: z.strictObject({ id: z.string().min(1), name: z.string().min(1) }),
                }),
              )
              .min(1)
              .optional(),
          }),
        }),
      }),
    ]),
  })
  .refine((body) => bytes(body) <= 28_000, "is larger than 28 kB");

// https://docs.ntfy.sh/publish/#publish-as-json
export const ntfyBody = z
  .strictObject({
    topic: z.string().regex(/^[-_A-Za-z0-9]{1,64}$/),
    title: filled(1_000),
    message: filled(4_096).refine((value) => bytes(value) <= 4_096, "is larger than 4,096 bytes"),
    priority: z.int().min(1).max(5),
    tags: z.array(z.string().regex(/^[^,\s]+$/)),
    click: url(2_048).optional(),
    attach: url(2_048).optional(),
    filename: filled(100).optional(),
    actions: z
      .array(
        z.discriminatedUnion("action", [
          z.strictObject({ action: z.literal("view"), label: filled(100), url: url(2_048) }),
          // https://docs.ntfy.sh/publish/#send-http-request
          z.strictObject({
            ...{ action: z.literal("http"), label: filled(100), url: url(2_048) },
            ...{ method: z.enum(["GET", "POST", "PUT"]), headers: z.record(z.string(), z.string()) },
            ...{ body: z.string(), clear: z.boolean() },
          }),
        ]),
      )
      .max(3)
      .optional(),
  })
  .refine((body) => bytes(body) <= 8_192, "is larger than 8,192 bytes");

// https://gotify.net/api-docs#/message/createMessage
export const gotifyBody = z.strictObject({
  title: text(1_000),
  message: filled(100_000),
  priority: z.int(),
  extras: z.strictObject({
    "client::display": z.strictObject({ contentType: z.enum(["text/plain", "text/markdown"]) }),
    "client::notification": z.strictObject({ click: z.strictObject({ url: url(2_048) }) }).optional(),
  }),
});

// https://pushover.net/api#messages
export const pushoverBody = z.strictObject({
  token: z.string().regex(/^[A-Za-z0-9]{30}$/),
  user: z.string().regex(/^[A-Za-z0-9]{30}$/),
  device: z.string().optional(),
  title: filled(250),
  message: filled(1_024),
  timestamp: z.string().regex(/^\d+$/),
  priority: z.enum(["0", "1"]),
  url: url(512).optional(),
  url_title: filled(100).optional(),
});

// https://spec.matrix.org/latest/client-server-api/#mroommessage-msgtypes
const matrixTags = ["p", "br", "strong", "em", "del", "code", "pre", "blockquote", "ul", "ol", "li", "a"];
const nobody = { "m.mentions": z.strictObject({}) };
// https://spec.matrix.org/latest/client-server-api/#user-and-room-mentions
const somebody = {
  "m.mentions": z.strictObject({
    room: z.literal(true).optional(),
    user_ids: z.array(z.string().startsWith("@")).min(1).optional(),
  }),
};
export const matrixContent = z.strictObject({
  msgtype: z.literal("m.text"),
  body: filled(65_536),
  format: z.literal("org.matrix.custom.html"),
  formatted_body: filled(65_536).superRefine((value, context) => {
    const fault = htmlFault(value, matrixTags, { isFlat: false });
    if (fault !== null) context.addIssue({ code: "custom", message: fault });
  }),
  ...somebody,
});
export const matrixReplacement = z.strictObject({
  msgtype: z.literal("m.text"),
  body: filled(65_536),
  ...nobody,
  "m.new_content": matrixContent,
  "m.relates_to": z.strictObject({ rel_type: z.literal("m.replace"), event_id: z.string().startsWith("$") }),
});
/** What the homeserver adds to an event: ids, hashes and signatures. */
export const matrixEnvelopeBytes = 2_000;

// https://github.com/caronc/apprise-api#api-details
export const appriseBody = z.strictObject({
  title: filled(1_000),
  body: filled(32_768),
  type: z.enum(["info", "success", "warning", "failure"]),
  format: z.enum(["text", "markdown", "html"]),
  urls: z.string().optional(),
  tag: z.string().optional(),
});

// docs/destinations.md
const project = z.strictObject({ slug: z.string(), name: z.string() });
const rule = z.strictObject({ id: z.string(), name: z.string() }).nullable();
const webhookEvent = z.looseObject({ id: z.string(), name: z.string(), channelId: z.string() });
const alert = z.strictObject({ url: url(1_000) }).optional();
const about = { url: url(65_536), urgent: z.boolean(), project, rule, alert };
export const webhookBody = z.strictObject({
  type: z.string().regex(/^[a-zA-Z0-9_]+(\.[a-zA-Z0-9_]+)*$/),
  timestamp: z.iso.datetime(),
  data: z.union([
    z.strictObject({ event: webhookEvent, ...about }),
    z.strictObject({
      title: z.string(),
      text: z.string().nullable(),
      event: webhookEvent.nullable(),
      matches: z.strictObject({ count: z.int(), from: z.iso.datetime(), to: z.iso.datetime() }).nullable(),
      newest: z.array(webhookEvent).max(10),
      ...about,
    }),
    z.strictObject({
      board: z.strictObject({ id: z.string(), name: z.string() }),
      period: z.strictObject({
        from: z.iso.datetime(),
        to: z.iso.datetime(),
        before: z.iso.datetime(),
        timeZone: z.string(),
      }),
      tiles: z.array(
        z.strictObject({
          id: z.string(),
          type: z.string(),
          title: z.string(),
          data: z.looseObject({ type: z.string() }).nullable(),
          before: z.looseObject({ type: z.string() }).nullable(),
          problem: z.string().nullable(),
        }),
      ),
      picture: url(2_048).nullable(),
      test: z.boolean(),
      url: url(65_536),
      project,
    }),
  ]),
});
