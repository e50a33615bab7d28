import { timingSafeEqual } from "node:crypto";
import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { ProblemError, problem } from "../core/problems.ts";
import type { Actor } from "../http/caller.ts";
import { buttonsAfter } from "../notifications/alert-buttons.ts";
import {
  callBot,
  readCallbackData,
  telegramKeyboard,
  telegramSecretOf,
} from "../notifications/kinds/telegram.ts";
import { OutboundFailure, type OutboundPolicy } from "../notifications/outbound.ts";
import { type Click, type ClickDeps, doClick, doneText, personName, readClick, unsigned } from "./click.ts";

type TelegramDeps = ClickDeps & { policy: OutboundPolicy };

/** https://core.telegram.org/bots/api#callbackquery */
const CallbackQuery = z.object({
  id: z.string(),
  from: z.object({ first_name: z.string(), last_name: z.string().optional() }),
  message: z.object({ message_id: z.int(), chat: z.object({ id: z.int() }) }).optional(),
  data: z.string().max(64).optional(),
});
type CallbackQuery = z.infer<typeof CallbackQuery>;

/** https://core.telegram.org/bots/api#update */
const Update = z.object({ update_id: z.int(), callback_query: CallbackQuery.optional() });

/** A call of the bot API, as the answer to an update: https://core.telegram.org/bots/api#making-requests-when-getting-updates */
export const TelegramResponse = z
  .object({
    method: z.literal("answerCallbackQuery").optional(),
    callback_query_id: z.string().optional(),
    text: z.string().optional(),
    show_alert: z.boolean().optional(),
  })
  .openapi("TelegramResponse");
type TelegramResponse = z.infer<typeof TelegramResponse>;

/** https://core.telegram.org/bots/api#answercallbackquery */
const textMax = 200;

/**
 * Does what a button in a Telegram message says, and has Telegram change the message's buttons. Returns what the person
 * who clicked is shown.
 *
 * Throws `body-malformed`, `alert-link-unknown` and `interaction-signature-invalid`.
 */
export async function receiveTelegramUpdate(
  deps: TelegramDeps,
  headers: Headers,
  bytes: Uint8Array,
  from: Actor,
): Promise<TelegramResponse> {
  const query = parseUpdate(bytes).callback_query;
  // Updates from before the webhook was set can be about anything else.
  if (!query) return {};
  const clicked = readCallbackData(query.data ?? "");
  if (!clicked) return answerOf(query);
  let click: Click;
  try {
    click = await readClick(deps, "telegram", clicked.button, clicked.token);
  } catch (error) {
    // Telegram repeats what gets another status, and the person would see nothing.
    if (!(error instanceof ProblemError) || error.code !== "alert-link-unknown") throw error;
    return { ...answerOf(query, error.options.detail), show_alert: true };
  }
  const { token, server, buttons } = click.settings as { token: string; server: string; buttons?: boolean };
  if (!isFromTelegram(token, headers)) throw unsigned("The secret token is missing or wrong.");
  if (!buttons)
    return {
      ...answerOf(query, "The destination has no buttons any more. Open the alert in Tidings."),
      show_alert: true,
    };
  const person = personName([query.from.first_name, query.from.last_name ?? ""].join(" "));
  try {
    await doClick(deps, click, from, person, "Telegram");
  } catch (error) {
    if (!(error instanceof ProblemError) || error.status >= 500) throw error;
    return { ...answerOf(query, error.options.detail), show_alert: true };
  }
  const done = doneText(click.button, person);
  const keyboard = telegramKeyboard(buttonsAfter(click.button), clicked.token, done);
  await changeButtons(deps, { token, server }, query, keyboard);
  return answerOf(query, done);
}

function parseUpdate(bytes: Uint8Array): z.infer<typeof Update> {
  try {
    return Update.parse(JSON.parse(Buffer.from(bytes).toString()));
  } catch {
    throw problem("body-malformed", { detail: "The body must be the JSON of an update." });
  }
}

function isFromTelegram(token: string, headers: Headers): boolean {
  const expected = Buffer.from(telegramSecretOf(token));
  const given = Buffer.from(headers.get("x-telegram-bot-api-secret-token") ?? "");
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function answerOf({ id }: CallbackQuery, text?: string): TelegramResponse {
  return {
    method: "answerCallbackQuery",
    callback_query_id: id,
    ...(text !== undefined && { text: text.slice(0, textMax) }),
  };
}

/** If Telegram can't be reached, the buttons stay as they were, and say why when they are clicked again. */
async function changeButtons(
  { policy }: TelegramDeps,
  bot: { token: string; server: string },
  { message }: CallbackQuery,
  keyboard: object,
): Promise<void> {
  if (!message) return;
  const body = { chat_id: message.chat.id, message_id: message.message_id, reply_markup: keyboard };
  const context = { policy, timeoutMs: limits.interactionAnswerMs, nowMs: Date.now() };
  await callBot("editMessageReplyMarkup", body, bot, context).catch((error: unknown) => {
    if (!(error instanceof OutboundFailure)) throw error;
  });
}
