/** Who is who, computed plainly: as a tree of IDs, of which each hangs on the one that it was joined to. */
export class PlainPeople {
  readonly #joinedTo = new Map<string, string>();
  readonly #splitOff = new Set<string>();
  readonly #known = new Set<string>();

  personOf(id: string): string {
    const above = this.#joinedTo.get(id);
    return above === undefined ? id : this.personOf(above);
  }

  /** All IDs of a list that are the same person as one. */
  idsOf(id: string, all: readonly string[]): string[] {
    return all.filter((other) => this.personOf(other) === this.personOf(id));
  }

  /** Whether the call joined them; null if it is refused. */
  join(id: string, userId: string, by: "identify" | "alias" | "merge", force = false): boolean | null {
    const person = this.personOf(userId);
    const joiner = this.personOf(id);
    if (by === "identify") this.#known.add(person);
    if (joiner === person) return false;
    if (by === "merge" && this.#known.has(joiner) && !this.#known.has(person))
      return this.join(userId, id, by, force);
    if (this.#known.has(joiner) && !force) return null;
    if (by !== "merge" && (this.#splitOff.has(id) || this.#splitOff.has(joiner))) return null;
    this.#joinedTo.set(joiner, userId);
    this.#splitOff.delete(joiner);
    return true;
  }

  /** Whether the ID could be split off. */
  split(id: string): boolean {
    if (!this.#joinedTo.delete(id)) return false;
    this.#splitOff.add(id);
    return true;
  }
}
