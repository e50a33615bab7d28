import { z } from "@hono/zod-openapi";
import { limits } from "../../core/limits.ts";
import type { destinationKinds } from "../../schemas/destination-kinds.ts";
import type { Message } from "../message.ts";
import { AddressRefused, OutboundFailure, type OutboundPolicy } from "../outbound.ts";
import { shorten } from "../shorten.ts";

declare module "zod" {
  interface GlobalMeta {
    /** Never shown again once it is saved, and hidden in what is reported about deliveries. */
    secret?: boolean;
    /** A secret that members who manage rules see all the same: their own address, which lets nobody in. */
    readable?: boolean;
    /** Set by the server; not part of the form. */
    internal?: boolean;
  }
}

/** One kind of destination, such as Slack or email. */
export type DestinationKind<Settings extends z.ZodObject = z.ZodObject> = {
  kind: (typeof destinationKinds)[number];
  label: string;
  /** Of a project's, the form is made from it: each field has a title and a description, which says how to get it. */
  settings: Settings;
  /** A chat, whose messages are read one after another: they are sent one at a time, in order. */
  isInOrder?: true;
  /** It gets the picture of a report as a file. Others get its address. */
  takesPictures?: true;
  /** Sends a message, or updates the previous one. Throws only for errors of the program. */
  send(message: Message, settings: z.infer<Settings>, context: Context): Promise<Outcome>;
};

export type Context = {
  policy: OutboundPolicy;
  /** Timeout for each call. Updating a message that no longer exists takes two. */
  timeoutMs?: number;
  /** When this attempt is made, in milliseconds since 1970. */
  nowMs: number;
  /** Reference of an earlier message of the same burst. Discord, Telegram and Matrix update that message. */
  previous?: string;
  /** Who reads the message, if an account gets it. */
  reader?: Reader;
  /** The picture of a report, as PNG, for kinds that take files (`takesPictures`). */
  picture?: Uint8Array | null;
};

/** The account that reads a message. */
export type Reader = {
  /** Ends the project's email to the account. */
  unsubscribeUrl?: string;
  /** Default: UTC. */
  timeZone?: string;
};

/**
 * How an attempt to send a message ended. The detail is a sentence for users, shown with the delivery.
 *
 * - `delivered`: the other side accepted it. With the `reference`, some kinds of destinations can update the message.
 * - `retry`: it may succeed later, but not before `retryAfterMs` milliseconds if the other side said so. It is given up
 *   after `giveUpAfterMs`, if that is sooner than usual. The `cause` is known if it isn't this message: the other side
 *   takes fewer messages (`rate-limit`), or takes none now (`unavailable`).
 * - `gone`: the destination no longer exists and must be removed.
 * - `failed`: it will never succeed, so it is not retried.
 */
export type Outcome = (
  | { kind: "delivered"; detail: string; reference?: string }
  | {
      kind: "retry";
      detail: string;
      retryAfterMs?: number;
      giveUpAfterMs?: number;
      cause?: "rate-limit" | "unavailable";
    }
  | { kind: "gone"; detail: string }
  | { kind: "failed"; detail: string }
) & {
  /** The destination had no part in it. */
  wasCalled?: false;
};

const detailCharactersMax = 240;

/** Completes a kind: failed calls become outcomes, and no secret of the settings gets into their details. */
export function defineKind<Settings extends z.ZodObject>(
  definition: DestinationKind<Settings>,
): DestinationKind<Settings> {
  return {
    ...definition,
    async send(message, settings, context) {
      const outcome = await definition
        .send(wellFormed(message), settings, context)
        .catch((error: unknown): Outcome => {
          if (error instanceof AddressRefused) return { kind: "failed", detail: error.message };
          if (error instanceof OutboundFailure)
            return { kind: "retry", detail: error.message, cause: "unavailable" };
          throw error;
        });
      // In this order, because half a secret would not be found.
      const detail = hideSecrets(outcome.detail, secretsOf(definition.settings, settings));
      return { ...outcome, detail: shorten(detail, detailCharactersMax) };
    },
  };
}

/** Replaces lone surrogates, which are not valid in UTF-8. */
function wellFormed(message: Message): Message {
  const repair = (_: string, value: unknown) => (typeof value === "string" ? value.toWellFormed() : value);
  return JSON.parse(JSON.stringify(message), repair);
}

/** The metadata of a setting, also if it is optional or has a default. */
export function settingMeta(field: z.ZodType): z.GlobalMeta {
  const meta = z.globalRegistry.get(field);
  if (meta) return meta;
  const isWrapped = field instanceof z.ZodOptional || field instanceof z.ZodDefault;
  return isWrapped ? settingMeta(field.unwrap() as z.ZodType) : {};
}

/** A setting that is a URL. */
export function urlSetting(meta: z.GlobalMeta) {
  return z
    .url({ protocol: /^https?$/, error: "must be a URL that begins with https://" })
    .max(limits.destinationUrlCharacters)
    .meta(meta);
}

/** A setting that goes into a header or a path: visible ASCII without spaces. */
export function tokenSetting(meta: z.GlobalMeta) {
  return z
    .string()
    .regex(/^[\x21-\x7e]+$/, "must be letters, digits and punctuation, without spaces")
    .max(limits.destinationTokenCharacters)
    .meta(meta);
}

/** Shorter parts of a URL are no secrets, and hiding them would garble sentences. */
const secretCharactersMin = 8;

/** The texts that must not be shown: secret settings, and of those that are URLs, the parts of path and query. */
function secretsOf(schema: z.ZodObject, settings: Record<string, unknown>): string[] {
  const secrets = Object.entries(schema.shape)
    .filter(([, field]) => settingMeta(field as z.ZodType).secret)
    .flatMap(([name]) => settings[name] ?? [])
    .map(String)
    .flatMap((secret) => {
      const url = URL.parse(secret);
      if (!url?.host) return [secret, encodeURIComponent(secret)];
      const parts = [...url.pathname.split("/"), ...url.searchParams.values(), url.password];
      return [secret, url.href, url.pathname + url.search, ...parts, ...parts.map(decodeSafely)];
    });
  return secrets
    .filter(({ length }) => length >= secretCharactersMin)
    .sort((one, other) => other.length - one.length);
}

function decodeSafely(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function hideSecrets(detail: string, secrets: string[]): string {
  return secrets.reduce((hidden, secret) => hidden.replaceAll(secret, "•••"), detail);
}
