import { expect, test } from "bun:test";
import fc from "fast-check";
import { checkUrl, createSecret, hashOf, isPublishable, isSecret, withoutSecretKeys } from "./key-secret.ts";

const secret = "tdg_sk_AwNCDKLJ26GStReT7GBjSRnIkiqh392uGNvN";
const publishable = "tdg_pk_9RH7PvbXI1tfv6tvuTZ9zHr4hBVXjq3TaUA7";

test("a key has a recognizable format and is unique", () => {
  const secrets = Array.from({ length: 2_000 }, () => createSecret("secret"));
  for (const secret of secrets) {
    expect(secret).toMatch(/^tdg_sk_[0-9A-Za-z]{36}$/);
    expect(isSecret(secret)).toBe(true);
  }
  expect(new Set(secrets).size).toBe(secrets.length);
});

test("mistyped, swapped and missing characters are detected without the database", () => {
  const at = fc.integer({ min: "tdg_sk_".length, max: "tdg_sk_".length + 35 });
  fc.assert(
    fc.property(at, at, fc.constantFrom(..."0Aa9Zz"), (i, j, other) => {
      const secret = createSecret("secret");
      const mistyped = secret.slice(0, i) + other + secret.slice(i + 1);
      const characters = [...secret];
      [characters[i], characters[j]] = [characters[j]!, characters[i]!];
      for (const text of [mistyped, characters.join("")]) expect(isSecret(text)).toBe(text === secret);
      expect(isSecret(secret.slice(0, i) + secret.slice(i + 1))).toBe(false);
      expect(isSecret(` ${secret}`)).toBe(false);
    }),
    { numRuns: 500 },
  );
});

test("a key ends with the CRC32 of the rest, in base62", () => {
  const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const secret = createSecret("secret");
  const value = [...secret.slice(-6)].reduce((sum, character) => sum * 62 + alphabet.indexOf(character), 0);
  expect(value).toBe(Bun.hash.crc32(secret.slice(0, -6)));
});

test("a key that was created long ago is still one", () => {
  expect([secret, publishable].map(isSecret)).toEqual([true, true]);
  expect([secret, publishable, createSecret("publishable")].map(isPublishable)).toEqual([false, true, true]);
  expect(isPublishable(`${publishable.slice(0, -1)}8`)).toBe(false);
  expect(hashOf("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

test("a right checksum alone makes no key", () => {
  const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  for (const text of [
    "",
    "tdg_sk_short",
    secret.slice(0, -6).replace("sk", "rk"),
    ` ${secret.slice(0, -6)}`,
  ]) {
    let checksum = "";
    for (let rest = Bun.hash.crc32(text); checksum.length < 6; rest = Math.floor(rest / 62))
      checksum = alphabet[rest % 62] + checksum;
    expect(isSecret(text + checksum)).toBe(false);
  }
});

test("all characters are as likely", () => {
  const counts = new Map<string, number>();
  for (let key = 0; key < 5_000; key++)
    for (const character of createSecret("secret").slice("tdg_sk_".length, -6))
      counts.set(character, (counts.get(character) ?? 0) + 1);
  // 2,419 on average, with a standard deviation of 49.
  expect(counts.size).toBe(62);
  for (const count of counts.values()) expect(count).toBeWithin(2_419 - 400, 2_419 + 400);
});

test("a URL with a key, or most of one, is refused", () => {
  for (const key of [secret, publishable, secret.slice(0, -6)])
    expect(() => checkUrl(`http://localhost/api/events?key=${key}`)).toThrow("key-in-url");
  checkUrl(`http://localhost/api/events?key=${secret.slice(0, -7)}`);
});

test("secret keys are removed from a text, publishable ones stay", () => {
  const text = `{"a":"${secret}","b":"${publishable}","c":"${secret}"}`;
  expect(withoutSecretKeys(text)).toBe(
    `{"a":"tdg_sk_[removed]","b":"${publishable}","c":"tdg_sk_[removed]"}`,
  );
});
