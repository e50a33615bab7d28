import { z } from "@hono/zod-openapi";
import { faultInText, type TextRule } from "./text-rule.ts";

/** A rule for a text as a Zod schema. */
export function text(rule: TextRule) {
  return z
    .string()
    .superRefine((value, context) => {
      const fault = faultInText(value, rule);
      if (fault) context.addIssue({ code: "custom", message: fault });
    })
    .openapi({ maxLength: rule.max, ...(rule.filled && { minLength: 1 }) });
}
