import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { eventTexts } from "../event/event.ts";
import { projectParameter } from "../event/event-query.ts";
import { text } from "../validation/text.ts";

export const KnownTextsQuery = z.strictObject({
  of: z.enum(["name", "tag", "value"]).openapi({
    description: "`name`: names of events. `tag`: keys of tags. `value`: values of the tag `key`.",
  }),
  key: text(eventTexts.tagKey).optional().openapi({ description: "With `of=value`: the key of the tag." }),
  prefix: text({ max: limits.tagValueCharacters })
    .optional()
    .openapi({ description: "Only texts that start with this." }),
  project: projectParameter,
});

export const KnownTextList = z
  .object({
    ok: z.literal(true),
    texts: z.array(z.string()).openapi({
      description: "In the order of their characters' codes. Very long ones can be missing.",
    }),
    isComplete: z.boolean().openapi({
      description: `False if there are more than ${limits.knownTexts.toLocaleString("en")}. Narrow it with \`prefix\`.`,
    }),
  })
  .openapi("KnownTextList");
