import type { Condition } from "../event/match.ts";
import { type Bits, fullBits } from "./bits.ts";
import type { Block, BlockReader } from "./block.ts";

/**
 * What a query matches in a block, as far as the block can tell. A token that the block does not know is on no event or
 * on a few. `ifAbsent` is the match if it is on none; `upper` and `lower` are bounds, whichever events it is on. If
 * every token is known, the three are equal. Null is the empty set.
 */
export type Evaluation = {
  ifAbsent: Bits | null;
  upper: Bits | null;
  lower: Bits | null;
  /** Unknown tokens that can make an event match. */
  unknown: string[];
  /** Unknown tokens that can exclude an event. */
  unknownNegated: string[];
  /** The query has a part that the block can't evaluate: a prefix, or a number or users about whom it has nothing. */
  isOpen: boolean;
};

export function evaluate<Of extends Block>(
  query: Condition,
  block: Of,
  reader: Pick<BlockReader<Of>, "withAny" | "withNumber" | "withMembers">,
): Evaluation {
  switch (query.kind) {
    case "prefix":
      return openIn(block);
    case "number": {
      const bits = reader.withNumber(block, query);
      if (bits === undefined) return openIn(block);
      return { ifAbsent: bits, upper: bits, lower: bits, unknown: [], unknownNegated: [], isOpen: false };
    }
    case "members": {
      const bits = reader.withMembers(block, query);
      if (bits === undefined) return openIn(block);
      return { ifAbsent: bits, upper: bits, lower: bits, unknown: [], unknownNegated: [], isOpen: false };
    }
    case "tokens": {
      const { bits, unknown } = reader.withAny(block, query.tokens);
      const upper = unknown.length > 0 ? fullBits(block.events) : bits;
      return { ifAbsent: bits, upper, lower: bits, unknown, unknownNegated: [], isOpen: false };
    }
    case "all": {
      let result: Evaluation | null = null;
      for (const part of query.of) {
        const other = evaluate(part, block, reader);
        result = result ? combine(result, other, and) : other;
        // The other parts can't add a match.
        if (result.upper === null) return noMatch;
      }
      return result!;
    }
    case "any": {
      let result = evaluate(query.of[0]!, block, reader);
      for (const part of query.of.slice(1)) result = combine(result, evaluate(part, block, reader), or);
      return result;
    }
    case "andNot": {
      const from = evaluate(query.of, block, reader);
      if (from.upper === null) return noMatch;
      return combine(from, swapBounds(evaluate(query.not, block, reader)), andNot);
    }
  }
}

const noMatch: Evaluation = {
  ifAbsent: null,
  upper: null,
  lower: null,
  unknown: [],
  unknownNegated: [],
  isOpen: false,
};

function openIn(block: Block): Evaluation {
  return {
    ifAbsent: null,
    upper: fullBits(block.events),
    lower: null,
    unknown: [],
    unknownNegated: [],
    isOpen: true,
  };
}

function concat(a: string[], b: string[]): string[] {
  return b.length === 0 ? a : [...a, ...b];
}

/** For the excluded side: the less is excluded, the more remains. */
function swapBounds({ ifAbsent, upper, lower, unknown, unknownNegated, isOpen }: Evaluation): Evaluation {
  return {
    ifAbsent,
    upper: lower,
    lower: upper,
    unknown: unknownNegated,
    unknownNegated: unknown,
    isOpen,
  };
}

type Operation = (a: Bits | null, b: Bits | null) => Bits | null;

function combine(a: Evaluation, b: Evaluation, operation: Operation): Evaluation {
  const isKnown = [a, b].every(({ ifAbsent, upper, lower }) => ifAbsent === upper && ifAbsent === lower);
  const ifAbsent = operation(a.ifAbsent, b.ifAbsent);
  return {
    ifAbsent,
    upper: isKnown ? ifAbsent : operation(a.upper, b.upper),
    lower: isKnown ? ifAbsent : operation(a.lower, b.lower),
    unknown: concat(a.unknown, b.unknown),
    unknownNegated: concat(a.unknownNegated, b.unknownNegated),
    isOpen: a.isOpen || b.isOpen,
  };
}

export const and: Operation = (a, b) => (a === null || b === null ? null : intersect(a, b, 0));

const andNot: Operation = (a, b) => (a === null || b === null ? a : intersect(a, b, -1));

export const or: Operation = (a, b) => {
  if (a === null || b === null) return a ?? b;
  const all = a.slice();
  for (let index = 0; index < all.length; index++) all[index]! |= b[index]!;
  return all;
};

/**
 * The intersection of a set with another, or with its complement if `flip` is -1. An empty result, the usual one,
 * allocates nothing.
 */
function intersect(a: Bits, b: Bits, flip: 0 | -1): Bits | null {
  let index = 0;
  while (index < a.length && (a[index]! & (b[index]! ^ flip)) === 0) index++;
  if (index === a.length) return null;
  const left: Bits = new Uint32Array(a.length);
  for (; index < a.length; index++) left[index] = a[index]! & (b[index]! ^ flip);
  return left;
}
