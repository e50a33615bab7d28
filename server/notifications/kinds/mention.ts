import { z } from "@hono/zod-openapi";
import { limits } from "../../core/limits.ts";
import type { Message } from "../message.ts";

/** Messages that come after others, or that try something, mention nobody. */
const types: readonly Message["type"][] = ["summary", "digest", "rule-test", "test"];

/**
 * A setting that says whom urgent messages mention: names and ids of the service, with commas between. A mention makes
 * a chat notify people that have muted it.
 *
 * @param who - what one of them looks like, such as "`@here`"
 */
export function mentionSetting({ pattern, who }: { pattern: RegExp; who: string }) {
  return z
    .string()
    .max(limits.destinationMentionCharacters)
    .refine(
      (text) => listOf(text).length > 0 && listOf(text).every((each) => pattern.test(each)),
      `must be ${who}, with commas between`,
    )
    .optional()
    .meta({
      title: "Mention in urgent messages",
      description: `Empty: nobody. Otherwise ${who}, with commas between.`,
    });
}

/** Whom a message mentions, as the setting has them. */
export function mentionsIn(message: Message, setting: string | undefined): string[] {
  return message.urgent && !types.includes(message.type) ? listOf(setting ?? "") : [];
}

function listOf(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((each) => each !== ""))];
}
