import { z } from "@hono/zod-openapi";
import type { FormField } from "../../schemas/destination.ts";
import { settingMeta } from "./kind.ts";

type Described = {
  type: string;
  format?: string;
  enum?: string[];
  default?: FormField["default"];
};

/** The fields in which people enter settings. */
export function formOf(settings: z.ZodObject): FormField[] {
  const { properties = {}, required = [] } = z.toJSONSchema(settings, { io: "input" });
  return Object.entries(settings.shape).flatMap(([name, schema]): FormField[] => {
    const {
      title = name,
      description = "",
      secret = false,
      readable = false,
      internal,
    } = settingMeta(schema as z.ZodType);
    if (internal) return [];
    const described = properties[name] as Described;
    return [
      {
        name,
        title,
        description,
        type: typeOf(described),
        ...(described.enum && { choices: described.enum }),
        required: required.includes(name),
        secret,
        readable: readable || !secret,
        // The default of a secret is generated for each destination.
        ...(!secret && described.default !== undefined && { default: described.default }),
      },
    ];
  });
}

function typeOf({ type, format, enum: choices }: Described): FormField["type"] {
  if (choices) return "choice";
  if (type === "boolean") return "boolean";
  if (type === "integer" || type === "number") return "number";
  return format === "uri" ? "url" : "text";
}
