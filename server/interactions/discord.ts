import { createPublicKey, verify } from "node:crypto";
import { z } from "@hono/zod-openapi";
import { ProblemError, problem } from "../core/problems.ts";
import type { Actor } from "../http/caller.ts";
import { buttonsAfter } from "../notifications/alert-buttons.ts";
import { buttonsRow } from "../notifications/kinds/discord.ts";
import { type ClickDeps, doClick, doneText, personName, readClick, unsigned } from "./click.ts";

const User = z.object({ username: z.string(), global_name: z.string().nullish() });

/** https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-object */
const Interaction = z.union([
  z.object({ type: z.literal(1) }),
  z.object({
    type: z.literal(3),
    data: z.object({ custom_id: z.string() }),
    member: z.object({ nick: z.string().nullish(), user: User }).optional(),
    user: User.optional(),
  }),
]);
type Interaction = z.infer<typeof Interaction>;
type ComponentClick = Extract<Interaction, { type: 3 }>;

/** https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object */
export const DiscordResponse = z
  .object({
    type: z.int().openapi({ description: "1 to a ping, 7 changes the message, 4 tells only the person." }),
    data: z.looseObject({}).optional(),
  })
  .openapi("DiscordResponse");
type DiscordResponse = z.infer<typeof DiscordResponse>;

const pong = 1;
const newMessage = 4;
const updateMessage = 7;
/** Only the person who clicked sees it. */
const ephemeral = 64;

/**
 * Does what a button in a Discord message says. Returns what Discord shows: the changed message, or why not.
 *
 * @param publicKey - of the application, hexadecimal, from the address. So a ping, which names no message, can be verified
 *
 * Throws `body-malformed`, `alert-link-unknown` and `interaction-signature-invalid`.
 */
export async function receiveDiscordInteraction(
  deps: ClickDeps,
  publicKey: string,
  headers: Headers,
  bytes: Uint8Array,
  from: Actor,
): Promise<DiscordResponse> {
  if (!isSignedByDiscord(publicKey, headers, bytes))
    throw unsigned(
      "The signature is missing or wrong. Compare the public key in the address with the application's.",
    );
  const interaction = parseInteraction(bytes);
  if (interaction.type === 1) return { type: pong };
  const [name = "", token = ""] = interaction.data.custom_id.split(".");
  const click = await readClick(deps, "discord", name, token);
  if (click.settings.publicKey !== publicKey)
    throw unsigned("The message is from a destination of another application, or of none any more.");
  const person = personOf(interaction);
  try {
    await doClick(deps, click, from, person, "Discord");
  } catch (error) {
    if (!(error instanceof ProblemError) || error.status >= 500) throw error;
    const content = error.options.detail;
    return { type: newMessage, data: { content, flags: ephemeral, allowed_mentions: { parse: [] } } };
  }
  const row = buttonsRow(buttonsAfter(click.button), token, doneText(click.button, person));
  return { type: updateMessage, data: { components: [row] } };
}

/**
 * https://docs.discord.com/developers/interactions/overview#setting-up-an-endpoint-validating-security-request-headers.
 * The time is signed and need not be recent, because a button can be used once.
 */
function isSignedByDiscord(publicKey: string, headers: Headers, bytes: Uint8Array): boolean {
  const signature = Buffer.from(headers.get("x-signature-ed25519") ?? "", "hex");
  const timestamp = headers.get("x-signature-timestamp") ?? "";
  if (!/^[0-9a-f]{64}$/.test(publicKey) || signature.length !== signatureBytes) return false;
  const x = Buffer.from(publicKey, "hex").toString("base64url");
  try {
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    return verify(null, Buffer.concat([Buffer.from(timestamp), bytes]), key, signature);
  } catch {
    // Not every 32 bytes are a key.
    return false;
  }
}

const signatureBytes = 64;

function parseInteraction(bytes: Uint8Array): Interaction {
  try {
    return Interaction.parse(JSON.parse(Buffer.from(bytes).toString()));
  } catch {
    throw problem("body-malformed", {
      detail:
        "The body must be the JSON of a ping or of a click on a button (an interaction of type 1 or 3).",
    });
  }
}

function personOf({ member, user }: ComponentClick): string {
  const account = member?.user ?? user;
  return personName(member?.nick ?? account?.global_name ?? account?.username ?? "");
}
