import { expect, test } from "bun:test";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { isSigned } from "../nodes/Tidings/webhook-signature.ts";

const secrets = fc
  .uint8Array({ minLength: 24, maxLength: 64 })
  .map((bytes) => `whsec_${Buffer.from(bytes).toString("base64")}`);
const nowMs = Date.parse("2026-11-26T12:00:00.250Z");

/** The headers of a request, as another implementation makes them. */
function headersOf(secret: string, id: string, body: string, atMs = nowMs) {
  const at = new Date(Math.floor(atMs / 1_000) * 1_000);
  return {
    "webhook-id": id,
    "webhook-timestamp": String(at.getTime() / 1_000),
    "webhook-signature": new Webhook(secret).sign(id, at, body),
  };
}

test("signatures are those of Standard Webhooks, of the same body and secret", () => {
  const ids = fc.stringMatching(/^[\w-]{1,40}$/);
  fc.assert(
    fc.property(secrets, secrets, ids, fc.string({ unit: "grapheme" }), (secret, other, id, body) => {
      const headers = headersOf(secret, id, body);
      expect(isSigned({ headers, body }, secret, nowMs)).toBe(true);
      expect(isSigned({ headers, body: Buffer.from(body) }, secret, nowMs)).toBe(true);
      expect(isSigned({ headers, body: `${body} ` }, secret, nowMs)).toBe(false);
      expect(isSigned({ headers: { ...headers, "webhook-id": `${id}x` }, body }, secret, nowMs)).toBe(false);
      fc.pre(other !== secret);
      expect(isSigned({ headers, body }, other, nowMs)).toBe(false);
      const both = `${headersOf(other, id, body)["webhook-signature"]} ${headers["webhook-signature"]}`;
      expect(isSigned({ headers: { ...headers, "webhook-signature": both }, body }, secret, nowMs)).toBe(
        true,
      );
    }),
  );
});

test("old and future requests are refused, and those without a signature", () => {
  const secret = `whsec_${Buffer.alloc(32).toString("base64")}`;
  const signed = (atMs: number) =>
    isSigned({ headers: headersOf(secret, "1", "{}", atMs), body: "{}" }, secret, nowMs);
  const minutes = 60_000;
  for (const [offset, accepted] of [
    [0, true],
    [-4.9 * minutes, true],
    [4.9 * minutes, true],
    [-5.1 * minutes, false],
    [5.1 * minutes, false],
  ] as const)
    expect(signed(nowMs + offset)).toBe(accepted);
  const headers = headersOf(secret, "1", "{}");
  for (const name of Object.keys(headers))
    for (const value of [undefined, "", "x"])
      expect(isSigned({ headers: { ...headers, [name]: value }, body: "{}" }, secret, nowMs)).toBe(false);
});
