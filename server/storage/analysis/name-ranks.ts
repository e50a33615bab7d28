import type { Texts } from "./numbered.ts";

/** The places of names in the order of their code units, sorted again only if there are more names. */
export class NameRanks {
  readonly #names: Texts;
  /** By number: the rank, from 0 on. */
  #ranks = new Uint32Array(1);
  /** By rank: the number. */
  #numbers = new Uint32Array();

  constructor(names: Texts) {
    this.#names = names;
  }

  /** The rank of each name by its number. */
  ranks(): Uint32Array {
    const { texts } = this.#names;
    if (this.#numbers.length === texts.length) return this.#ranks;
    this.#numbers = Uint32Array.from(texts.keys(), (index) => index + 1).sort((a, b) =>
      texts[a - 1]! < texts[b - 1]! ? -1 : 1,
    );
    this.#ranks = new Uint32Array(texts.length + 1);
    for (const [rank, number] of this.#numbers.entries()) this.#ranks[number] = rank;
    return this.#ranks;
  }

  /** The number of the name at a rank, as `ranks` returned it last. */
  nameAt(rank: number): number {
    return this.#numbers[rank]!;
  }
}
