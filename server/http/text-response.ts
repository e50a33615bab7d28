import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { parseAccept } from "hono/utils/accept";

/** Shorter texts fit in one packet anyway. */
const lengthMin = 1_000;
/**
 * Longer texts are compressed in another thread, since they would delay other requests. For shorter ones, that costs
 * more.
 */
const syncLengthMax = 256 * 1_024;
/** Twice as fast as the default level, and 6 % larger. */
const level = 2;

type Init = { status?: number; headers: Headers | Record<string, string> };

const gzipInThreadPool = promisify(gzip);

/**
 * Returns a text, gzipped if it is long and `Accept-Encoding` allows it.
 *
 * The length of a compressed response shows whether text that somebody else chose repeats a part of a secret (BREACH,
 * CVE-2013-3587). Compressing streams would take CPU time from recording events.
 *
 * Invariant: only responses to GET are compressed: no response that may contain a secret, such as a new key, and no
 * stream. Checked by `server/http/text-response.test.ts`.
 */
export async function textResponse(request: Request, text: string, init: Init): Promise<Response> {
  if (text.length < lengthMin) return new Response(text, init);
  const headers = new Headers(init.headers);
  headers.append("vary", "accept-encoding");
  if (!acceptsGzip(request)) return new Response(text, { ...init, headers });
  headers.set("content-encoding", "gzip");
  const body =
    text.length > syncLengthMax ? await gzipInThreadPool(text, { level }) : Bun.gzipSync(text, { level });
  return new Response(body as Uint8Array<ArrayBuffer>, { ...init, headers });
}

function acceptsGzip(request: Request): boolean {
  const accepted = parseAccept(request.headers.get("accept-encoding") ?? "");
  const rule =
    accepted.find(({ type }) => type.toLowerCase() === "gzip") ?? accepted.find(({ type }) => type === "*");
  return rule !== undefined && rule.q > 0;
}
