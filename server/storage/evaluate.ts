import type { Condition } from "../event/match.ts";
import { type Bits, fullBits } from "./bits.ts";
import type { Block, Digests } from "./block.ts";

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
export function evaluate<Of extends Block>(
  query: Condition,
  block: Of,
  blocks: Pick<Digests<Of>, "withAny">,
): Found {
  switch (query.kind) {
    case "prefix":
      return {
        without: null,
        most: fullBits(block.events),
        least: null,
        unknown: [],
        unknownLeft: [],
        isVague: true,
      };
    case "tokens": {
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
      let found = evaluate(query.of[0]!, block, blocks);
      for (const part of query.of.slice(1)) found = combined(found, evaluate(part, block, blocks), or);
      return found;
    }
    case "andNot": {
      const from = evaluate(query.of, block, blocks);
      if (from.most === null) return nothing;
      return combined(from, mirrored(evaluate(query.not, block, blocks)), andNot);
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

/** What is left out: most is left of a set where least is taken from it. */
function mirrored({ without, most, least, unknown, unknownLeft, isVague }: Found): Found {
  return { without, most: least, least: most, unknown: unknownLeft, unknownLeft: unknown, isVague };
}

type Operation = (a: Bits | null, b: Bits | null) => Bits | null;

function combined(a: Found, b: Found, operation: Operation): Found {
  const isKnown = [a, b].every(({ without, most, least }) => without === most && without === least);
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

export const and: Operation = (a, b) => (a === null || b === null ? null : leftOf(a, b, 0));

const andNot: Operation = (a, b) => (a === null || b === null ? a : leftOf(a, b, -1));

const or: Operation = (a, b) => {
  if (a === null || b === null) return a ?? b;
  const all = a.slice();
  for (let index = 0; index < all.length; index++) all[index]! |= b[index]!;
  return all;
};

/** What is in one set and in another, of which each bit is turned by `flip`. In most blocks that is nothing, which takes no memory. */
function leftOf(a: Bits, b: Bits, flip: 0 | -1): Bits | null {
  let index = 0;
  while (index < a.length && (a[index]! & (b[index]! ^ flip)) === 0) index++;
  if (index === a.length) return null;
  const left: Bits = new Uint32Array(a.length);
  for (; index < a.length; index++) left[index] = a[index]! & (b[index]! ^ flip);
  return left;
}
