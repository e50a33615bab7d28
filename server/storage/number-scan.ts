import { type Condition, requiredNumber } from "../event/match.ts";

/** How SQL finds rows that can have a number in a range, without parsing them as JSON. */
export type NumberScan = {
  /** The end of what precedes the number in the event's body. */
  before: string;
  low: number;
  high: number;
};

/** Covers what SQL and JavaScript can round differently. */
const roundingMargin = 1e-12;
/** Members of an event's JSON: a tag with such a key is not the first place with that text. */
const members = new Set(["id", "name", "description", "channelId", "userId", "icon", "createdAt"]);

/**
 * A scan for a number that every match must have; null if there is none. It finds too much, never too little. In JSON,
 * a quote inside a string has a backslash, so the first place is the tag.
 */
export function numberScanOf(condition: Condition): NumberScan | null {
  const number = requiredNumber(condition);
  if (number === null || members.has(number.key)) return null;
  const { from, to } = number.range;
  return {
    before: `${JSON.stringify(number.key)}:"`,
    low: from ? lowered(Number(from.value)) : -Number.MAX_VALUE,
    high: to ? -lowered(-Number(to.value)) : Number.MAX_VALUE,
  };
}

function lowered(number: number): number {
  return Math.max(number - Math.abs(number) * roundingMargin - Number.MIN_VALUE, -Number.MAX_VALUE);
}
