import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { eventTexts } from "../event/event.ts";
import { text } from "../validation/text.ts";

/** The name of an insight in its URL. */
export const insightKey = z
  .string()
  .regex(
    new RegExp(`^[A-Za-z0-9][\\w.-]{0,${limits.insightKeyCharacters - 1}}$`),
    `must have 1 to ${limits.insightKeyCharacters} letters, digits, "-", "_" or ".", and begin with a letter or digit`,
  );

const amount = z
  .number()
  .min(-limits.insightValue, `must be at least ${-limits.insightValue}`)
  .max(limits.insightValue, `must be at most ${limits.insightValue}`);

const texts = {
  title: text({ max: limits.insightTitleCharacters, filled: true })
    .optional()
    .openapi({ description: "Shown above the value. Without it, the title stays; at first it is the key." }),
  icon: text(eventTexts.icon)
    .optional()
    .openapi({ description: "An emoji, for example. Without it, the icon stays." }),
};

export const InsightSetting = z
  .strictObject({ value: amount, ...texts })
  .openapi("InsightSetting", { example: { title: "Paying customers", value: 1_204, icon: "💳" } });
export type InsightSetting = z.infer<typeof InsightSetting>;

export const InsightAddition = z
  .strictObject({
    add: amount.openapi({ description: "Added to the value, which begins at 0. Negative to subtract." }),
    ...texts,
  })
  .openapi("InsightAddition", { example: { add: 1 } });
export type InsightAddition = z.infer<typeof InsightAddition>;

/** A number that an application sets. */
export const Insight = z
  .object({
    key: z.string(),
    title: z.string(),
    icon: z.string().optional(),
    value: z.number(),
    createdAt: z.string().openapi({ format: "date-time" }),
    updatedAt: z.string().openapi({ format: "date-time", description: "When it was last set." }),
  })
  .openapi("Insight");
export type Insight = z.infer<typeof Insight>;

/** An insight in the list. Boards, which can be public, don't say who set it. */
const InsightInList = Insight.extend({
  setBy: z.object({ id: z.string(), name: z.string(), ending: z.string() }).nullable().openapi({
    description:
      "The API key that set it last, with empty texts if the key was deleted; null if a member did, or if it was set before this was kept.",
  }),
}).openapi("InsightInList");
export type InsightInList = z.infer<typeof InsightInList>;

export const InsightPoint = z
  .object({ at: z.string().openapi({ format: "date-time" }), value: z.number() })
  .openapi("InsightPoint");

/** The sent part of an insight. */
const SentInsight = z
  .object({ key: z.string(), ...InsightSetting.partial().shape, ...InsightAddition.partial().shape })
  .openapi("SentInsight");

export const InsightResponse = z
  .object({
    ok: z.literal(true),
    insight: z.union([Insight, SentInsight]).openapi({
      description: "The insight as it is now; for callers that may not read insights, what they sent.",
    }),
  })
  .openapi("InsightResponse");
export const InsightWithHistory = z
  .object({
    ok: z.literal(true),
    insight: Insight,
    points: z.array(InsightPoint).openapi({
      description: `Its history, oldest first: at most a point for every ${limits.insightPointMinutes} minutes in which it was set, and ${limits.insightPoints.toLocaleString("en")} points.`,
    }),
  })
  .openapi("InsightWithHistory");
export const InsightList = z
  .object({ ok: z.literal(true), insights: z.array(InsightInList) })
  .openapi("InsightList");
