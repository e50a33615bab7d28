import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { userHash, userHashText } from "../../event/user-hash.ts";
import { Users } from "./numbered.ts";
import { createReadPeople, type PeopleSource, PersonHashes } from "./person-hashes.ts";

/** The rows of projects, each with the version at which it changed. */
class Rows {
  readonly #projects = new Map<number, Map<string, { personId: string; version: number }>>();
  readonly #versions = new Map<number, { version: number; removed: number }>();
  reads = 0;

  set(projectId: number, userId: string, personId: string): void {
    const { version, removed } = this.#versions.get(projectId) ?? { version: 0, removed: 0 };
    this.#versions.set(projectId, { version: version + 1, removed });
    const rows = this.#projects.get(projectId) ?? new Map();
    rows.set(userId, { personId, version: version + 1 });
    this.#projects.set(projectId, rows);
  }

  clear(projectId: number): void {
    const version = (this.#versions.get(projectId)?.version ?? 0) + 1;
    this.#versions.set(projectId, { version, removed: version });
    this.#projects.delete(projectId);
  }

  get source(): PeopleSource {
    return {
      versions: async (projectId) => this.#versions.get(projectId) ?? null,
      rowsAfter: async (projectId, after, limit) => {
        const rows = [...(this.#projects.get(projectId) ?? [])]
          .map(([userId, row]) => ({ userId, ...row }))
          .filter(
            ({ version, userId }) =>
              version > after.version || (version === after.version && userId > after.userId),
          )
          .sort((a, b) => a.version - b.version || (a.userId < b.userId ? -1 : 1))
          .slice(0, limit);
        this.reads += rows.length;
        return rows;
      },
    };
  }
}

function personIn(hashes: PersonHashes, userId: string): string {
  const [first, second, third] = userHash(userId);
  const at = hashes.find(first!, second!, third!);
  const own = at < 0 ? userHash(userId) : hashes.words.subarray(at, at + 3);
  return Array.from(own, (word) => word.toString(16).padStart(8, "0")).join("");
}

describe("IDs as hashes", () => {
  test("have the person that was set last, however many there are", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat({ max: 3_000 }), fc.nat({ max: 3_000 })), { maxLength: 6_000 }),
        (pairs) => {
          const hashes = new PersonHashes();
          const plain = new Map<string, string>();
          for (const [user, person] of pairs) {
            hashes.set(`u${user}`, `u${person}`);
            plain.set(`u${user}`, `u${person}`);
          }
          expect(hashes.count).toBe(plain.size);
          for (let n = 0; n <= 3_000; n++)
            if (personIn(hashes, `u${n}`) !== userHashText(plain.get(`u${n}`) ?? `u${n}`))
              throw new Error(`u${n} has another person.`);
        },
      ),
      { numRuns: 20 },
    );
  });

  test("give all IDs of a person one number, whichever comes first, and count the person once", () => {
    const hashes = new PersonHashes();
    for (let n = 0; n < 30_000; n++) hashes.set(`visitor ${n}`, `u${n % 10_000}`);
    const users = new Users(hashes);
    for (let n = 0; n < 30_000; n++) users.add(`visitor ${n}`);
    expect(users.count).toBe(10_000);
    const own = users.add("u7");
    expect([users.add("visitor 7"), users.add("visitor 10007"), users.count]).toEqual([own, own, 10_000]);
    let listed = 0;
    for (let slot = 0; slot < users.slots; slot++) if (users.numberIn(slot) !== 0) listed++;
    expect(listed).toBe(10_000);
    // After that, only users who are numbered have a number, by any of their IDs.
    users.close();
    hashes.set("late", "u7");
    expect([users.add("late"), users.add("nobody")]).toEqual([own, 0]);
    expect(users.count).toBe(10_000);
  });
});

describe("reading people", () => {
  test("takes up every change, reads only what changed, and forgets what was removed", async () => {
    const rows = new Rows();
    const readPeople = createReadPeople(rows.source);
    expect(await readPeople(1)).toBeNull();
    for (let n = 0; n < 5_000; n++) rows.set(1, `v${n}`, `u${n}`);
    expect((await readPeople(1))!.count).toBe(5_000);
    rows.reads = 0;
    rows.set(1, "v7", "u1");
    rows.set(1, "new", "u2");
    const people = (await readPeople(1))!;
    expect([personIn(people, "v7"), personIn(people, "new")]).toEqual([
      userHashText("u1"),
      userHashText("u2"),
    ]);
    expect(rows.reads).toBe(2);
    expect(await readPeople(1)).toBe(people);
    expect(rows.reads).toBe(2);
    rows.set(1, "v7", "v7");
    expect(personIn((await readPeople(1))!, "v7")).toBe(userHashText("v7"));
    rows.clear(1);
    rows.set(1, "v1", "u9");
    const after = (await readPeople(1))!;
    expect([after.count, personIn(after, "v1"), personIn(after, "v2")]).toEqual([
      1,
      userHashText("u9"),
      userHashText("v2"),
    ]);
    rows.clear(1);
    expect(await readPeople(1)).toBeNull();
  });

  test("is shared by analyses that begin together", async () => {
    const rows = new Rows();
    for (let n = 0; n < 100; n++) rows.set(1, `v${n}`, `u${n}`);
    const readPeople = createReadPeople(rows.source);
    const [one, other] = await Promise.all([readPeople(1), readPeople(1)]);
    expect(one).toBe(other);
    expect(rows.reads).toBe(100);
  });

  test("keeps only so much in memory, of the projects that were asked for last", async () => {
    const rows = new Rows();
    const bytes = new PersonHashes().bytes;
    const readPeople = createReadPeople(rows.source, 3 * bytes);
    for (let project = 1; project <= 5; project++) {
      rows.set(project, "v", "u");
      await readPeople(project);
    }
    rows.reads = 0;
    await readPeople(5);
    expect(rows.reads).toBe(0);
    await readPeople(1);
    expect(rows.reads).toBe(1);
  });
});
