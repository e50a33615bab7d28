import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { parseJson } from "../http/json.ts";

/** Headers that mappings can't read and that are not kept: credentials, and what only this connection needs. */
const hidden =
  /authorization|cookie|signature|secret|token|api-?key|password|^(?:host|connection|content-length|accept-encoding|forwarded|x-forwarded-.*|x-real-ip)$/;

const ampersand = "&".charCodeAt(0);

/**
 * Throws `content-type-unsupported`, `body-malformed`, `body-too-large` for a large form, and `body-invalid` if it is
 * nested too deeply or has too many values.
 */
export function parseBody(bytes: Uint8Array, type: string | null): unknown {
  if (type !== null && /^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) return parseForm(bytes);
  if (type !== null && /^multipart\//i.test(type)) {
    throw problem("content-type-unsupported", {
      detail: "Send JSON or application/x-www-form-urlencoded, not a multipart body.",
    });
  }
  // Many services send JSON as text/plain, or without a type.
  return parseJson(bytes, "The body", limits.webhookValues);
}

/** Throws `content-type-unsupported` for compressed bodies, whose signature nobody could check. */
export function checkEncoding(headers: Headers): void {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "";
  if (encoding === "" || encoding === "identity") return;
  throw problem("content-type-unsupported", { detail: "Send the body uncompressed." });
}

/** The headers that mappings read, by their names in lower case. */
export function mappingHeaders(headers: Headers): Record<string, string> {
  const shown = [...headers].filter(([name]) => !hidden.test(name)).slice(0, limits.webhookHeaders);
  return Object.fromEntries(
    shown.map(([name, value]) => [name, value.slice(0, limits.webhookHeaderValueCharacters).toWellFormed()]),
  );
}

/** Throws `body-invalid` for too many fields, before they are parsed: a million would hold up all other requests. */
function checkFields(bytes: Uint8Array): void {
  let fields = 1;
  for (let at = bytes.indexOf(ampersand); at >= 0; at = bytes.indexOf(ampersand, at + 1)) fields++;
  if (fields <= limits.webhookValues) return;
  const detail = `The form has more than ${limits.webhookValues.toLocaleString("en")} fields.`;
  throw problem("body-invalid", { detail, errors: [{ pointer: "", detail }] });
}

/** Fields that are sent several times become arrays. JSON in a single field `payload` is the body, as GitHub sends it. */
function parseForm(bytes: Uint8Array): unknown {
  if (bytes.length > limits.webhookBytes) {
    throw problem("body-too-large", {
      detail: `A form must have at most ${limits.webhookBytes.toLocaleString("en")} bytes.`,
    });
  }
  checkFields(bytes);
  const fields = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(Buffer.from(bytes).toString())) {
    const values = fields.get(name);
    if (values) values.push(value);
    else fields.set(name, [value]);
  }
  const payload = fields.size === 1 ? fields.get("payload") : undefined;
  if (payload?.length === 1 && /^\s*[[{]/.test(payload[0]!))
    return parseJson(Buffer.from(payload[0]!), "The body", limits.webhookValues);
  return Object.fromEntries(
    [...fields].map(([name, values]) => [name, values.length > 1 ? values : values[0]]),
  );
}
