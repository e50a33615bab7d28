import type { Event } from "../event/event.ts";
import { matchesSearch } from "../event/match-search.ts";
import type { Search } from "../event/search.ts";
import type { PlainPeople } from "./plain-people.ts";

type GroupName = { type: string; id: string };

/** Groups of users, computed plainly: as lists of IDs. */
export class PlainGroups {
  readonly #people: PlainPeople;
  readonly #members = new Map<string, Set<string>>();

  constructor(people: PlainPeople) {
    this.#people = people;
  }

  personOf(userId: string): string {
    return this.#people.personOf(userId);
  }

  add(group: GroupName, userId: string): void {
    const members = this.#members.get(keyOf(group)) ?? new Set();
    this.#members.set(keyOf(group), members.add(userId));
  }

  /** Whether it was saved. */
  has(group: GroupName): boolean {
    return this.#members.has(keyOf(group));
  }

  /** Whether somebody was removed. */
  remove(group: GroupName, userId: string): boolean {
    const members = this.#members.get(keyOf(group)) ?? new Set();
    const own = [...members].filter((member) => this.personOf(member) === this.personOf(userId));
    for (const member of own) members.delete(member);
    return own.length > 0;
  }

  /** Whether there was one. */
  delete(group: GroupName): boolean {
    return this.#members.delete(keyOf(group));
  }

  erase(userId: string): void {
    for (const members of this.#members.values()) members.delete(userId);
  }

  /** The main IDs of the people in a group, sorted. */
  peopleIn(group: GroupName): string[] {
    return [
      ...new Set([...(this.#members.get(keyOf(group)) ?? [])].map((member) => this.personOf(member))),
    ].sort();
  }

  /** The groups of a person, sorted by type and ID. */
  groupsOf(userId: string): [type: string, id: string][] {
    return [...this.#members.keys()]
      .map((key) => JSON.parse(key) as [string, string])
      .filter(([type, id]) => this.peopleIn({ type, id }).includes(this.personOf(userId)))
      .sort(([a, b], [c, d]) => (a < c || (a === c && b < d) ? -1 : 1));
  }

  /** The groups of a type that an event belongs to: the one that it names, or else those of its person. */
  groupsOfEvent(type: string, { userId, tags }: Event): string[] {
    if (Object.hasOwn(tags, type)) return [tags[type]!];
    return userId === "" ? [] : this.groupsOf(userId).flatMap(([each, id]) => (each === type ? id : []));
  }

  matches(search: Search, event: Event): boolean {
    switch (search.kind) {
      case "all":
        return search.of.every((part) => this.matches(part, event));
      case "any":
        return search.of.some((part) => this.matches(part, event));
      case "not":
        return !this.matches(search.of, event);
      case "group":
        return this.groupsOfEvent(search.type, event).some((id) => search.ids.includes(id));
      default:
        return matchesSearch(search, event);
    }
  }
}

function keyOf({ type, id }: GroupName): string {
  return JSON.stringify([type, id]);
}
