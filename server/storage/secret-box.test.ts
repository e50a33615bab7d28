import { expect, test } from "bun:test";
import fc from "fast-check";
import { generateSecretKey, SecretBox } from "./secret-box.ts";

const box = new SecretBox(generateSecretKey());

test("every secret comes out as it went in, and looks different each time", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (secret) => {
      const sealed = box.seal(secret, "test");
      expect(box.open(sealed, "test")).toBe(secret);
      expect(box.seal(secret, "test")).not.toBe(sealed);
      if (secret.length > 3) expect(sealed).not.toContain(secret);
    }),
  );
});

test("it opens with its own key and for its own purpose only, and not if it was changed", () => {
  const sealed = box.seal("a secret", "test");
  expect(() => new SecretBox(generateSecretKey()).open(sealed, "test")).toThrow("another key");
  expect(() => box.open(sealed, "another test")).toThrow();
  expect(() => box.open("a secret", "test")).toThrow();
  const start = sealed.lastIndexOf(".") + 1;
  for (let at = start; at < sealed.length - 1; at++) {
    const changed = sealed.slice(0, at) + (sealed[at] === "A" ? "B" : "A") + sealed.slice(at + 1);
    expect(() => box.open(changed, "test")).toThrow();
  }
  for (const cut of [start, start + 10, sealed.length - 4])
    expect(() => box.open(sealed.slice(0, cut), "test")).toThrow();
});

test("what was sealed once is opened by each later version", () => {
  const known = new SecretBox(Buffer.alloc(32, 7).toString("base64url"));
  const sealed = "v1.jyRqZbbk.ZHgFTWaDsRkB9eFBhJEh-MzpDFRkITytfDzXrUcGJp51BVOr";
  expect(known.keyId).toBe("jyRqZbbk");
  expect(known.open(sealed, "test")).toBe("a secret");
  expect(known.seal("a secret", "test")).toHaveLength(sealed.length);
  expect(() => known.open(sealed.replace("v1", "v2"), "test")).toThrow("another key");
});

test("base64 and base64url are the same key", () => {
  const bytes = Buffer.alloc(32, 0xfb);
  const [plain, url] = [bytes.toString("base64"), bytes.toString("base64url")];
  expect(new SecretBox(url).open(new SecretBox(plain).seal("a", ""), "")).toBe("a");
  expect(() => new SecretBox("short")).toThrow("32 bytes");
});
