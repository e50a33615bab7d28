import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { eventTexts } from "../event/event.ts";
import { validSearch } from "../event/event-query.ts";
import { text } from "../validation/text.ts";

const whole = (min: number, max: number) =>
  z
    .int("must be a whole number")
    .min(min, `must be at least ${min}`)
    .max(max, `must be at most ${max.toLocaleString("en")}`);

/** The measure of a rule about a metric. */
export const RuleMeasure = z
  .discriminatedUnion("metric", [
    z
      .strictObject({ metric: z.enum(["events", "users"]) })
      .openapi({ description: "The number of events or of different users that match." }),
    z
      .strictObject({
        metric: z.enum(["sum", "average", "minimum", "maximum"]),
        tag: text(eventTexts.tagKey).openapi({ description: "Key of the tag." }),
      })
      .openapi({ description: "Of a tag's numbers in the events that match." }),
    z
      .strictObject({
        metric: z.literal("ratio"),
        of: validSearch.openapi({ description: "The search for the events that are 100 percent." }),
      })
      .openapi({ description: "The events that match `q`, in percent of those that match `of`." }),
    z
      .strictObject({
        metric: z.literal("conversion"),
        steps: z
          .array(validSearch)
          .min(2, "must have at least 2 steps")
          .max(limits.funnelSteps, `must have at most ${limits.funnelSteps} steps`)
          .openapi({ description: "A search for each step, in order. Its events must match `q`, too." }),
        windowSeconds: whole(1, limits.funnelWindowSeconds)
          .default(7 * 24 * 60 * 60)
          .openapi({ description: "How long a user may take from the first step to the last." }),
      })
      .openapi({ description: "The users who take all steps, in percent of those who take the first." }),
  ])
  .openapi("RuleMeasure");
export type RuleMeasure = z.infer<typeof RuleMeasure>;

/** The condition of a rule about a metric: exactly one of `above`, `below` and `change`. */
export const MetricCondition = z
  .strictObject({
    type: z.literal("metric"),
    measure: RuleMeasure,
    minutes: whole(1, limits.ruleMinutes).openapi({
      description: "Length of the time that is measured. It ends with the last full minute.",
    }),
    against: z.enum(["before", "week"]).nullable().default(null).openapi({
      description:
        "What the metric is compared with: the same time `before`, or the same hours a `week` ago. The rule then looks at the change in percent. Null: at the metric itself.",
    }),
    above: z.number().optional().openapi({ description: "The largest value that doesn't notify." }),
    below: z.number().optional().openapi({ description: "The smallest value that doesn't notify." }),
    change: z.number().positive("must be more than 0").optional().openapi({
      description: "With `against`: the largest change in percent, up or down, that doesn't notify.",
    }),
    clear: z.number().nullable().default(null).openapi({
      description:
        "The alert ends once the value is back here, so that it doesn't end and begin again all the time. Null: at the threshold.",
    }),
    pendingMinutes: whole(0, limits.ruleMinutes)
      .default(0)
      .openapi({ description: "How long the condition must hold before the rule notifies." }),
    noData: z.enum(["ok", "alert"]).default("ok").openapi({
      description: "What no value means, such as the average of no numbers.",
    }),
  })
  .superRefine((condition, context) => {
    const fault = faultIn(condition);
    if (fault) context.addIssue({ code: "custom", ...fault });
  })
  .openapi({ description: "Notifies if a metric is too high or too low, or has changed too much." });
export type MetricCondition = z.infer<typeof MetricCondition>;

type Fields = Pick<MetricCondition, "above" | "below" | "change" | "clear" | "against">;

function faultIn({
  above,
  below,
  change,
  clear,
  against,
}: Fields): { message: string; path?: string[] } | null {
  if ([above, below, change].filter((each) => each !== undefined).length !== 1)
    return { message: 'must have exactly one of "above", "below" and "change"' };
  if (change !== undefined && against === null)
    return { message: 'must be "before" or "week" for a change', path: ["against"] };
  if (clear === null) return null;
  const at = (message: string) => ({ message, path: ["clear"] });
  if (above !== undefined && clear > above) return at('must be at most "above"');
  if (below !== undefined && clear < below) return at('must be at least "below"');
  if (change !== undefined && (clear > change || clear < 0)) return at('must be from 0 to "change"');
  return null;
}
