import { expect, test } from "bun:test";
import { limits } from "../limits.ts";
import { ProblemError } from "../problems.ts";
import { oneAtATime } from "./passwords.ts";

/** Hashing that waits until it is told to go on. */
function slowHashing() {
  const started: { password: string; finish: () => void; fail: () => void }[] = [];
  const { hash } = oneAtATime({
    hash: (password) =>
      new Promise((resolve, reject) => {
        started.push({ password, finish: () => resolve(`hash of ${password}`), fail: () => reject(Error()) });
      }),
    verify: async () => true,
  });
  return { hash, started };
}

test("passwords are hashed one after another, also after a failure", async () => {
  const { hash, started } = slowHashing();
  const hashes = ["a", "b", "c"].map((password) => hash(password).catch(() => "failed"));
  await Bun.sleep(0);
  expect(started.map(({ password }) => password)).toEqual(["a"]);
  started[0]!.fail();
  expect(await hashes[0]).toBe("failed");
  expect(started.map(({ password }) => password)).toEqual(["a", "b"]);
  started[1]!.finish();
  expect(await hashes[1]).toBe("hash of b");
  started[2]!.finish();
  expect(await hashes[2]).toBe("hash of c");
});

test("if too many wait, the next one is told to come back", async () => {
  const { hash, started } = slowHashing();
  const waiting = Array.from({ length: limits.passwordsHashing }, (_, n) => hash(`${n}`));
  const rejected = await hash("one more").catch((error: unknown) => error);
  expect(rejected).toBeInstanceOf(ProblemError);
  expect((rejected as ProblemError).toResponse().headers.get("retry-after")).toBe("5");
  await Bun.sleep(0);
  started[0]!.finish();
  await waiting[0];
  const accepted = hash("now");
  for (let n = 1; n <= waiting.length; n++) {
    started[n]!.finish();
    await (waiting[n] ?? accepted);
  }
  expect(await accepted).toBe("hash of now");
});
