import { z } from "@hono/zod-openapi";
import { Webhook } from "standardwebhooks";
import {
  appriseBody,
  bytes,
  discordBody,
  gotifyBody,
  matrixContent,
  matrixEnvelopeBytes,
  matrixReplacement,
  ntfyBody,
  pushoverBody,
  slackBody,
  teamsBody,
  telegramBody,
  telegramMarkupBody,
  telegramWebhookBody,
  webhookBody,
} from "./destination-bodies.ts";

/** A request as a service receives it. */
export type ReceivedRequest = {
  method: string;
  /** With the query. */
  path: string;
  headers: Record<string, string>;
  /** Parsed JSON or form. */
  body: Record<string, unknown>;
};

export const webhookSecret = `whsec_${Buffer.alloc(32, "s").toString("base64")}`;

/** What a service accepts, strictly by its documentation, and what it answers. */
export type Service = {
  path: RegExp;
  methods: string[];
  headers?: Record<string, string>;
  body: z.ZodType;
  /** Any other fault. */
  check?: (request: ReceivedRequest) => string | null;
  /** The answer to an accepted request. `messages` has what can be updated. */
  accept: (request: ReceivedRequest, messages: Map<string, string>) => unknown;
  reject?: (fault: string) => unknown;
  /** It is no message. */
  isCall?: true;
  /** The answer if the message to update does not exist. */
  missing?: (
    request: ReceivedRequest,
    messages: Map<string, string>,
  ) => [status: number, body: unknown] | null;
};

const json = { "content-type": "application/json" };
export const plain = (fault: string): unknown => fault;
const ok = () => "ok";

/** The services of all kinds of destinations. */
export const services: (Service & { name: string })[] = [
  {
    name: "webhook",
    path: /^\/hooks\/tidings-0123456789$/,
    methods: ["POST"],
    headers: json,
    body: webhookBody,
    check({ headers }) {
      if (headers["webhook-id"]!.includes(".")) return "The id has a full stop.";
      new Webhook(webhookSecret).verify(headers["x-raw-body"]!, headers);
      return null;
    },
    accept: ok,
  },
  {
    name: "slack",
    path: /^\/services\/T00000000\/B00000000\/ABCDEFGHIJKLMNOPQRSTUVWX$/,
    methods: ["POST"],
    headers: json,
    body: slackBody,
    accept: ok,
    reject: (fault) => `invalid_blocks: ${fault}`,
  },
  {
    name: "discord",
    path: /^\/api\/webhooks\/1234567890\/the-token-of_discord(\/messages\/\d+$|\?wait=true$)/,
    methods: ["POST", "PATCH"],
    headers: json,
    body: discordBody,
    check: ({ method, path }) =>
      (method === "PATCH") === path.includes("/messages/") ? null : "Wrong method",
    missing: ({ path }, messages) => {
      const id = path.split("/messages/")[1];
      return id === undefined || messages.has(id)
        ? null
        : [404, { message: "Unknown Message", code: 10_008 }];
    },
    accept: ({ path, body }, messages) => {
      const id = path.split("/messages/")[1] ?? String(100 + messages.size);
      messages.set(id, "discord");
      return { id, type: 0, components: body.components ?? [] };
    },
    reject: (fault) => ({ message: "Invalid Form Body", code: 50_035, errors: { embeds: fault } }),
  },
  {
    name: "telegram",
    path: /^\/bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw\/(sendMessage|editMessageText)$/,
    methods: ["POST"],
    headers: json,
    body: telegramBody,
    check: ({ path, body }) =>
      path.endsWith("editMessageText") === (body.message_id !== undefined) ? null : "message_id",
    missing: ({ body }, messages) => {
      if (body.message_id === undefined || messages.has(String(body.message_id))) return null;
      return [400, { ok: false, error_code: 400, description: "Bad Request: message to edit not found" }];
    },
    accept: ({ body }, messages) => {
      const id = String(body.message_id ?? 100 + messages.size);
      messages.set(id, "telegram");
      return { ok: true, result: { message_id: Number(id), chat: { id: body.chat_id } } };
    },
    reject: (fault) => ({ ok: false, error_code: 400, description: `Bad Request: ${fault}` }),
  },
  ...[
    ["setWebhook", telegramWebhookBody] as const,
    ["editMessageReplyMarkup", telegramMarkupBody] as const,
  ].map(([method, body]) => ({
    name: method,
    path: new RegExp(`^/bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/${method}$`),
    methods: ["POST"],
    headers: json,
    body,
    isCall: true as const,
    accept: () => ({ ok: true, result: true }),
    reject: (fault: string) => ({ ok: false, error_code: 400, description: `Bad Request: ${fault}` }),
  })),
  {
    name: "teams",
    path: /^\/workflows\/0123456789abcdef\/triggers\/manual\/paths\/invoke\?sig=signature-of-teams$/,
    methods: ["POST"],
    headers: json,
    body: teamsBody,
    accept: () => "",
    reject: (message) => ({ error: { code: "TriggerInputSchemaMismatch", message } }),
  },
  {
    name: "gotify",
    path: /^\/gotify\/message$/,
    methods: ["POST"],
    headers: { ...json, "x-gotify-key": "A-token.of-gotify" },
    body: gotifyBody,
    accept: ({ body }) => ({ id: 1, appid: 1, ...body }),
    reject: (fault) => ({ error: "Bad Request", errorCode: 400, errorDescription: fault }),
  },
  {
    name: "pushover",
    path: /^\/1\/messages\.json$/,
    methods: ["POST"],
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: pushoverBody,
    accept: () => ({ status: 1, request: "647d2300-702c-4b38-8b2f-d56326ae460b" }),
    reject: (fault) => ({ status: 0, errors: [fault], request: "5042853c-402d-4a18-abcb-168734a801de" }),
  },
  {
    name: "matrix",
    path: /^\/_matrix\/client\/v3\/rooms\/!room%3Aexample\.com\/send\/m\.room\.message\/[^/?]+$/,
    methods: ["PUT"],
    headers: { ...json, authorization: "Bearer syt_token_of_matrix" },
    body: z
      .union([matrixContent, matrixReplacement])
      .refine((body) => bytes(body) <= 65_536 - matrixEnvelopeBytes, "is larger than 65,536 bytes"),
    accept: ({ path }, messages) => {
      const transaction = path.split("/").at(-1)!;
      const id = messages.get(transaction) ?? `$event${messages.size}`;
      messages.set(transaction, id);
      return { event_id: id };
    },
    reject: (error) => ({ errcode: "M_BAD_JSON", error }),
  },
  {
    name: "apprise",
    path: /^\/notify(\/key-of-apprise)?$/,
    methods: ["POST"],
    headers: json,
    body: appriseBody,
    check: ({ path, body }) => ((path === "/notify") === (body.urls !== undefined) ? null : "urls"),
    accept: () => ({ error: null }),
    reject: (error) => ({ error }),
  },
  {
    name: "ntfy",
    path: /^\/$/,
    methods: ["POST"],
    headers: { ...json, authorization: "Bearer tk_0123456789abcdefghijklmnopqrs" },
    body: ntfyBody,
    accept: ({ body }) => ({ id: "hwQ2YpKdmg", time: 1_635_528_741, event: "message", ...body }),
    reject: (error) => ({ code: 40_024, http: 400, error, link: "https://ntfy.sh/docs/publish/" }),
  },
];
