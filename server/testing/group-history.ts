import { expect } from "bun:test";
import fc from "fast-check";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import type { Event } from "../event/event.ts";
import { ArrivalClock } from "../event/id.ts";
import { deleteGroup } from "../groups/groups.ts";
import { removeMember } from "../groups/members.ts";
import { saveGroups } from "../groups/save-groups.ts";
import { joinAll } from "../people/join-ids.ts";
import { splitId } from "../people/split-id.ts";
import { createProject } from "../projects/projects.ts";
import { peopleChanged } from "../storage/people.ts";
import type { Store } from "../storage/store.ts";
import { eraseFromGroups } from "../users/erase-from-groups.ts";
import { acceptedEvent } from "./accepted-event.ts";
import { type Engine, makeStorage, openEngineStore, removeStorage } from "./engine.ts";
import { PlainGroups } from "./plain-groups.ts";
import { PlainPeople } from "./plain-people.ts";
import { removeEvents } from "./remove-events.ts";

/** What happens to events, people and groups, for tests that compare reads with plain computations. */

const blockEvents = 100;
export const hourMs = 3_600_000;
/** The time of a history. */
export const hours = 20 * 24;
/** Each history has a time of its own, so that blocks have enough events of its project to have columns. */
let lastStartMs = Date.UTC(2024, 0, 1);
const rest = async () => {};
export const ids = Array.from({ length: 12 }, (_, n) => (n % 3 === 0 ? `visitor ${n}` : `u${n}`));
export const types = ["company", "team"];
export const groupIds = ["acme", "initech", "a, b"];
/** The property `plan` of saved groups. */
export const plans: Record<string, string> = { acme: "pro", initech: "pro" };

const id = fc.constantFrom(...ids);
const group = fc.record({ type: fc.constantFrom(...types), id: fc.constantFrom(...groupIds) });
const sent = fc.record({
  userId: fc.oneof(fc.constant(""), id, id, id),
  name: fc.constantFrom("open", "pay"),
  hour: fc.nat({ max: hours - 1 }),
  // An event names a group of a type, one that nobody created, or none.
  company: fc.constantFrom(...groupIds, "unsaved", null, null, null, null),
  amount: fc.constantFrom("1", "0.1", "-2.5", "none"),
});
const doing = <Name extends string>(...names: Name[]) => fc.constantFrom(...names);
/** A step of a history. */
export const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: doing("send"), events: fc.array(sent, { minLength: 20, maxLength: 60 }) }),
  },
  { weight: 7, arbitrary: fc.record({ do: doing("add"), group, id }) },
  // Somebody who works for all companies.
  { weight: 4, arbitrary: fc.record({ do: doing("add everywhere"), id }) },
  { weight: 2, arbitrary: fc.record({ do: doing("remove"), group, id }) },
  { weight: 1, arbitrary: fc.record({ do: doing("delete"), group }) },
  // More than a search looks up one by one.
  { weight: 1, arbitrary: fc.record({ do: doing("fill"), group }) },
  { weight: 4, arbitrary: fc.record({ do: doing("join"), id, userId: id }) },
  { weight: 2, arbitrary: fc.record({ do: doing("split"), id }) },
  { weight: 1, arbitrary: fc.record({ do: doing("erase"), id }) },
  { weight: 2, arbitrary: fc.record({ do: doing("index") }) },
);
export type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

export type HistoryStore = Awaited<ReturnType<typeof openHistoryStore>>;

/** A store whose blocks are small. */
export async function openHistoryStore(engine: Engine) {
  const storage = await makeStorage(engine);
  const store = await openEngineStore(storage, blockEvents);
  return {
    store,
    clock: new ArrivalClock(null),
    async [Symbol.asyncDispose](): Promise<void> {
      await store.close();
      await removeStorage(storage);
    },
  };
}

/** A project of a store, and the same as plain lists. */
export class GroupHistory {
  readonly projectId: number;
  readonly groups: PlainGroups;
  readonly startMs: number;
  events: Event[] = [];
  readonly #people = new PlainPeople();
  readonly #store: Store;
  readonly #clock: ArrivalClock;

  private constructor({ store, clock }: HistoryStore, projectId: number) {
    this.#store = store;
    this.#clock = clock;
    this.projectId = projectId;
    this.groups = new PlainGroups(this.#people);
    this.startMs = lastStartMs += (hours + 24) * hourMs;
  }

  static async begin(opened: HistoryStore): Promise<GroupHistory> {
    const { id } = await createProject(opened.store.control, "Groups", null);
    return new GroupHistory(opened, id);
  }

  get endMs(): number {
    return this.startMs + hours * hourMs;
  }

  async takeAll(steps: readonly Step[]): Promise<void> {
    for (const each of steps) await this.take(each);
  }

  async take(each: Step): Promise<void> {
    const { projectId, groups, startMs } = this;
    const store = this.#store;
    const people = this.#people;
    const change = { actor: commandActor, projectId };
    switch (each.do) {
      case "send": {
        const accepted = each.events.map(({ hour, company, amount, ...event }) =>
          acceptedEvent({
            projectId,
            arrival: this.#clock.next(),
            event: {
              ...event,
              tags: { amount, plan: hour % 2 ? "pro" : "free", ...(company && { company }) },
            },
            createdAtMs: startMs + hour * hourMs,
          }),
        );
        await store.events.appendAll(accepted);
        this.events.push(...accepted.map(({ event }) => event));
        break;
      }
      case "add":
        expect(
          await saveGroups(
            store,
            projectId,
            [{ ...each.group, userId: each.id, set: setOf(each.group.id) }],
            {
              mayCreate: true,
            },
          ),
        ).toEqual([null]);
        groups.add(each.group, each.id);
        break;
      case "add everywhere":
        for (const groupId of groupIds)
          await this.take({ do: "add", group: { type: "company", id: groupId }, id: each.id });
        break;
      case "fill": {
        const others = Array.from({ length: 250 }, (_, n) => `other ${n}`);
        await saveGroups(
          store,
          projectId,
          others.map((userId) => ({ ...each.group, userId, set: setOf(each.group.id) })),
          { mayCreate: true },
        );
        for (const userId of others) groups.add(each.group, userId);
        break;
      }
      case "remove": {
        const removed = await makeChange(store.control, change, ({ transaction }) =>
          removeMember(transaction, projectId, each.group, each.id),
        ).then(
          () => true,
          () => false,
        );
        expect(removed).toBe(groups.remove(each.group, each.id));
        break;
      }
      case "delete": {
        const isDeleted = await deleteGroup(store.control, change, each.group).then(
          () => true,
          () => false,
        );
        expect(isDeleted).toBe(groups.delete(each.group));
        break;
      }
      case "join": {
        const joining = { id: each.id, userId: each.userId, by: "alias" as const, name: null };
        await joinAll(store, projectId, [{ ...joining, identifies: false }]);
        people.join(each.id, each.userId, "alias");
        break;
      }
      case "split": {
        const isSplit = await makeChange(store.control, change, (open) => splitId(open, each.id)).then(
          () => true,
          () => false,
        );
        peopleChanged(store.control, projectId);
        expect(isSplit).toBe(people.split(each.id));
        break;
      }
      case "erase": {
        const own = people.idsOf(each.id, ids);
        for (const userId of own) {
          await removeEvents(store, { projectId, userIds: [userId] });
          await eraseFromGroups(store.control, projectId, userId);
          groups.erase(userId);
        }
        this.events = this.events.filter(({ userId }) => !own.includes(userId));
        break;
      }
      case "index":
        await store.events.indexBlocks(rest, this.endMs + hourMs);
        break;
    }
  }
}

function setOf(groupId: string): { plan?: string } {
  const plan = plans[groupId];
  return plan === undefined ? {} : { plan };
}
