import { expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import { ProblemError } from "../core/problems.ts";
import { inTurns } from "./passwords.ts";

/** Hashing that waits until it is told to go on. */
function slowHashing() {
  const started: { password: string; finish: () => void; fail: () => void }[] = [];
  const { hash } = inTurns({
    hash: (password) =>
      new Promise((resolve, reject) => {
        started.push({ password, finish: () => resolve(`hash of ${password}`), fail: () => reject(Error()) });
      }),
    verify: async () => true,
  });
  const from = (address: string, isKnown = false) => ({ address, isKnown });
  /** Hashes a password for a client, or says what the problem is. */
  const outcome = (password: string, address: string, isKnown = false) =>
    hash(password, from(address, isKnown)).catch((error: ProblemError) => error.code);
  /** Finishes everything that waits, and returns in which order it was done. */
  async function order(): Promise<string[]> {
    for (let n = 0; n < started.length; n++) {
      started[n]!.finish();
      // The next one starts in a later microtask.
      await Bun.sleep(0);
    }
    return started.map(({ password }) => password);
  }
  return { hash, from, outcome, order, started };
}

test("passwords are hashed one after another, also after a failure", async () => {
  const { hash, from, started } = slowHashing();
  const hashes = ["a", "b", "c"].map((password) => hash(password, from("192.0.2.1")).catch(() => "failed"));
  await Bun.sleep(0);
  expect(started.map(({ password }) => password)).toEqual(["a"]);
  started[0]!.fail();
  expect(await hashes[0]).toBe("failed");
  await Bun.sleep(0);
  expect(started.map(({ password }) => password)).toEqual(["a", "b"]);
  started[1]!.finish();
  expect(await hashes[1]).toBe("hash of b");
  await Bun.sleep(0);
  started[2]!.finish();
  expect(await hashes[2]).toBe("hash of c");
});

test("networks take turns, so a flood from one of them delays only itself", async () => {
  const { outcome, order } = slowHashing();
  for (let n = 0; n < 5; n++) void outcome(`flood ${n}`, `198.51.100.${n}`);
  for (let n = 0; n < 3; n++) void outcome(`office ${n}`, `2001:db8:1:${n}::1`);
  void outcome("ada", "203.0.113.7");
  expect(await order()).toEqual([
    ...["flood 0", "flood 1", "office 0", "ada"],
    ...["flood 2", "office 1", "flood 3", "office 2", "flood 4"],
  ]);
});

test("known clients have every second turn, however many networks flood", async () => {
  const { outcome, order } = slowHashing();
  for (let n = 0; n < 6; n++) void outcome(`flood ${n}`, `198.51.${n}.1`);
  for (let n = 0; n < 2; n++) void outcome(`known ${n}`, "203.0.113.7", true);
  expect((await order()).slice(0, 5)).toEqual(["flood 0", "known 0", "flood 1", "known 1", "flood 2"]);
});

test("if too many wait, the next one of their network is told to come back, and others displace one", async () => {
  const { hash, from, outcome, order } = slowHashing();
  // One is in progress, all others wait.
  const flood = Array.from({ length: limits.passwordsWaiting + 1 }, (_, n) =>
    outcome(`${n}`, `198.51.100.${n}`),
  );
  const rejected = await hash("one more", from("198.51.100.200")).catch((error: unknown) => error);
  expect(rejected).toBeInstanceOf(ProblemError);
  expect((rejected as ProblemError).toResponse().headers.get("retry-after")).toBe("5");

  const ada = outcome("ada", "203.0.113.7");
  const known = outcome("known", "198.51.100.1", true);
  expect((await order()).slice(0, 4)).toEqual(["0", "known", "1", "ada"]);
  expect([await ada, await known]).toEqual(["hash of ada", "hash of known"]);
  const outcomes = await Promise.all(flood);
  expect(outcomes.filter((each) => each === "overloaded")).toHaveLength(2);
  expect(outcomes.slice(-2)).toEqual(["overloaded", "overloaded"]);

  // Then there is room for as many again.
  const again = Array.from({ length: limits.passwordsWaiting + 1 }, (_, n) =>
    outcome(`${n}`, `192.0.2.${n}`),
  );
  await order();
  expect(new Set((await Promise.all(again)).map((each) => String(each).slice(0, 4)))).toEqual(
    new Set(["hash"]),
  );
});
