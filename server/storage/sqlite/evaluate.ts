import { type Bits, fullBits, isEmpty } from "./bits.ts";
import type { Block, Blocks } from "./blocks.ts";
import type { Query } from "./match.ts";

/**
 * What a query finds in a block, as far as its digest tells. A token that the digest does not know may be on some events, never
 * on many: as if it were on none, the query finds `without` it; were it on all or on none, as either suits, it could find `most`, and
 * at `least`. Where every token is known, the three are the same.
 */
export type Found = {
  without: Bits | null;
  most: Bits | null;
  least: Bits | null;
  /** The unknown tokens with which an event may be found, and those without which it may be. */
  unknown: string[];
  unknownLeft: string[];
  /** It asks for what no digest tells: all words with a prefix. */
  isVague: boolean;
};

/** Evaluates a query on the digest of a block; null stands for no events. */
export function evaluate(query: Query, block: Block, blocks: Blocks): Found {
  switch (query.kind) {
    case "leaf": {
      if (query.isPrefix) {
        return { without: null, most: fullBits(block.events), least: null, unknown: [], unknownLeft: [], isVague: true };
      }
      const { bits, unknown } = blocks.withAny(block, query.tokens);
      const most = unknown.length > 0 ? fullBits(block.events) : bits;
      return { without: bits, most, least: bits, unknown, unknownLeft: [], isVague: false };
    }
    case "all": {
      let found: Found | null = null;
      for (const part of query.of) {
        const other = evaluate(part, block, blocks);
        found = found ? combined(found, other, and) : other;
        // Whatever the others are, nothing is left.
        if (found.most === null) return nothing;
      }
      return found!;
    }
    case "any": {
      let found = nothing;
      for (const part of query.of) found = combined(found, evaluate(part, block, blocks), or);
      return found;
    }
    case "but": {
      const from = evaluate(query.from, block, blocks);
      if (from.most === null) return nothing;
      const not = evaluate(query.not, block, blocks);
      const isKnown = from.without === from.most && not.without === not.most;
      const without = andNot(from.without, not.without);
      return {
        without,
        most: isKnown ? without : andNot(from.most, not.least),
        least: isKnown ? without : andNot(from.least, not.most),
        unknown: joined(from.unknown, not.unknownLeft),
        unknownLeft: joined(from.unknownLeft, not.unknown),
        isVague: from.isVague || not.isVague,
      };
    }
  }
}

const nothing: Found = {
  without: null,
  most: null,
  least: null,
  unknown: [],
  unknownLeft: [],
  isVague: false,
};

function joined(a: string[], b: string[]): string[] {
  return b.length === 0 ? a : [...a, ...b];
}

type Operation = (a: Bits | null, b: Bits | null) => Bits | null;

function combined(a: Found, b: Found, operation: Operation): Found {
  const isKnown = a.without === a.most && b.without === b.most;
  const without = operation(a.without, b.without);
  return {
    without,
    most: isKnown ? without : operation(a.most, b.most),
    least: isKnown ? without : operation(a.least, b.least),
    unknown: joined(a.unknown, b.unknown),
    unknownLeft: joined(a.unknownLeft, b.unknownLeft),
    isVague: a.isVague || b.isVague,
  };
}

export const and: Operation = (a, b) => {
  if (a === null || b === null) return null;
  const bits = new Uint32Array(a.length);
  let any = 0;
  for (let index = 0; index < bits.length; index++) {
    const word = a[index]! & b[index]!;
    bits[index] = word;
    any |= word;
  }
  return any === 0 ? null : bits;
};

const or: Operation = (a, b) => {
  if (a === null || b === null) return a ?? b;
  const bits = new Uint32Array(a.length);
  for (let index = 0; index < bits.length; index++) bits[index] = a[index]! | b[index]!;
  return bits;
};

const andNot: Operation = (a, b) => {
  if (a === null || b === null) return a;
  const bits = new Uint32Array(a.length);
  for (let index = 0; index < bits.length; index++) bits[index] = a[index]! & ~b[index]!;
  return isEmpty(bits) ? null : bits;
};
