import { z } from "@hono/zod-openapi";
import type { Mailer } from "../email.ts";
import type { DestinationKind } from "./kind.ts";

const settings = z.strictObject({ address: z.email() });

/** The email addresses of accounts. */
export function emailKind(mailer: Mailer, baseUrl: string): DestinationKind<typeof settings> {
  return {
    kind: "email",
    label: "Email",
    settings,
    takesPictures: true,
    async send(message, { address: to }, { timeoutMs, reader, picture = null }) {
      // Loaded with the mailer, because its packages need memory.
      const { renderEmail } = await import("../email.ts");
      return mailer.send({ ...renderEmail(message, { baseUrl, picture, ...reader }), to }, timeoutMs);
    },
  };
}
