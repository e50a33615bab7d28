import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { ProblemError, problem } from "../core/problems.ts";
import type { Actor } from "../http/caller.ts";
import { buttonsAfter } from "../notifications/alert-buttons.ts";
import { buttonsBlock, buttonsBlockId } from "../notifications/kinds/slack.ts";
import { callOutbound, OutboundFailure, type OutboundPolicy } from "../notifications/outbound.ts";
import { hmac, isSignedBy, timestampFault } from "../webhooks/signatures.ts";
import { type Click, type ClickDeps, doClick, doneText, personName, readClick, unsigned } from "./click.ts";

type SlackDeps = ClickDeps & { policy: OutboundPolicy };

/** https://docs.slack.dev/reference/interaction-payloads/block_actions-payload */
const Payload = z.object({
  type: z.literal("block_actions"),
  user: z.object({ id: z.string(), username: z.string().optional(), name: z.string().optional() }),
  actions: z.array(z.object({ action_id: z.string(), value: z.string() })).length(1),
  message: z.object({
    text: z.string().default(""),
    blocks: z.array(z.looseObject({ block_id: z.string().optional() })),
  }),
  response_url: z.url(),
});
type Payload = z.infer<typeof Payload>;

/**
 * Does what a button in a Slack message says, and has Slack change the message, or tell the person why not.
 *
 * Throws `body-malformed`, `alert-link-unknown` and `interaction-signature-invalid`.
 */
export async function receiveSlackClick(
  deps: SlackDeps,
  headers: Headers,
  bytes: Uint8Array,
  from: Actor,
): Promise<void> {
  const payload = parsePayload(bytes);
  const [{ action_id, value }] = payload.actions as [Payload["actions"][number]];
  const click = await readClick(deps, "slack", action_id, value);
  const fault = slackSignatureFault(click.settings.signingSecret, headers, bytes, Date.now());
  if (fault !== null) throw unsigned(fault);
  const { id, username, name } = payload.user;
  const person = personName(username ?? name ?? id);
  try {
    await doClick(deps, click, from, person, "Slack");
  } catch (error) {
    if (!(error instanceof ProblemError) || error.status >= 500) throw error;
    return answer(deps, payload, {
      response_type: "ephemeral",
      replace_original: false,
      text: error.options.detail,
    });
  }
  await answer(deps, payload, changedMessage(payload, click, value, person));
}

function parsePayload(bytes: Uint8Array): Payload {
  const text = new URLSearchParams(Buffer.from(bytes).toString()).get("payload") ?? "";
  try {
    return Payload.parse(JSON.parse(text));
  } catch {
    throw problem("body-malformed", {
      detail: "The body must be a form whose payload is the JSON of a click on a button (block_actions).",
    });
  }
}

/**
 * Why a request is not one of Slack's, or null: https://docs.slack.dev/authentication/verifying-requests-from-slack
 *
 * @param secret - of the app; other than a text if the destination has none
 */
export function slackSignatureFault(
  secret: unknown,
  headers: Headers,
  bytes: Uint8Array,
  nowMs: number,
): string | null {
  if (typeof secret !== "string") return "The destination has no signing secret any more.";
  const timestamp = headers.get("x-slack-request-timestamp") ?? "";
  const signature = headers.get("x-slack-signature") ?? "";
  const late = timestampFault(timestamp, nowMs);
  if (late !== null) return late;
  const isSigned =
    signature.startsWith("v0=") && isSignedBy(hmac(secret, `v0:${timestamp}:`, bytes), [signature.slice(3)]);
  return isSigned
    ? null
    : "The signature is wrong. Compare the signing secret of the destination with that of the Slack app.";
}

/** The message that was clicked, with who did what in place of the buttons that are done. */
function changedMessage({ message }: Payload, { button }: Click, token: string, person: string) {
  const done = {
    type: "context",
    elements: [{ type: "plain_text", text: doneText(button, person), emoji: false }],
  };
  const left = buttonsAfter(button);
  const replaced = [done, ...(left.length === 0 ? [] : [buttonsBlock(left, token)])];
  return {
    replace_original: true,
    text: message.text,
    blocks: message.blocks.flatMap((block) => (block.block_id === buttonsBlockId ? replaced : [block])),
  };
}

/**
 * Answers to the click's own address: https://docs.slack.dev/interactivity/handling-user-interaction#message_responses.
 * Throws `interaction-unanswered` if Slack can't be reached, since the alert has changed and the message has not.
 */
async function answer({ policy }: SlackDeps, { response_url }: Payload, body: object): Promise<void> {
  const response = await callOutbound(
    response_url,
    {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      timeoutMs: limits.interactionAnswerMs,
    },
    policy,
  ).catch((error: unknown) => {
    if (error instanceof OutboundFailure) return null;
    throw error;
  });
  if (response && response.status < 300) return;
  throw problem("interaction-unanswered", {
    detail: "The click was received, but Slack did not take the answer to it.",
  });
}
