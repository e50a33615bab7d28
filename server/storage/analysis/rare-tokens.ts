import { packOrdinals, unionOf } from "../bits.ts";
import type { Block, BlockReader } from "../block.ts";
import { or } from "../evaluate.ts";
import { unknownTokensMax } from "../prune-blocks.ts";

/**
 * Reads a block, and looks up the tokens that it does not know because they are rare in it.
 *
 * @param rareOrdinals - the ascending ordinals of a token's events, but for those of milliseconds that changed since the
 *   block was begun; null if that is not known
 */
export function ordinalsWith<Of extends Block>(
  { withAny, withNumber, withMembers }: Pick<BlockReader<Of>, "withAny" | "withNumber" | "withMembers">,
  rareOrdinals: (token: string) => number[] | null,
): Pick<BlockReader<Of>, "withAny" | "withNumber" | "withMembers"> {
  const found = new Map<string, number[] | null>();
  return {
    withNumber,
    withMembers,
    withAny(block, tokens) {
      const { bits, unknown } = withAny(block, tokens);
      const rare: Uint8Array[] = [];
      const stillUnknown: string[] = [];
      for (const token of unknown) {
        let ordinals = found.get(token);
        if (ordinals === undefined) {
          ordinals = found.size < unknownTokensMax ? rareOrdinals(token) : null;
          found.set(token, ordinals);
        }
        if (ordinals === null) stillUnknown.push(token);
        else if (ordinals.length > 0) rare.push(packOrdinals(ordinals, block.events));
      }
      const union = rare.length === 0 ? bits : or(bits, unionOf(rare, block.events));
      return { bits: union, unknown: stillUnknown };
    },
  };
}
