/**
 * Which texts are numbers, and how they compare. A tag's value is text on the wire and in storage; a number is a text
 * in JSON's notation (RFC 8259, section 6) that a double can hold: `49`, `-1.5`, `1e3`, but not `0x10`, `.5` or `1e999`.
 */

const notation = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

/** The double nearest to a text's number; null if the text is not a number. */
export function numberOf(text: string): number | null {
  // Most tags begin with a letter. A digit or "-" is cheap to tell.
  const first = text.charCodeAt(0);
  if (first !== 0x2d && !(first >= 0x30 && first <= 0x39)) return null;
  if (!notation.test(text)) return null;
  const number = Number(text);
  // Zero has no sign here.
  return Number.isFinite(number) ? number + 0 : null;
}

export function isNumber(text: string): boolean {
  return numberOf(text) !== null;
}

/**
 * Compares the numbers of two texts by all their digits: negative if the first is less, 0 if they are equal. Doubles
 * decide unless they are equal, because rounding keeps the order.
 */
export function compareNumbers(a: string, b: string): number {
  const difference = Number(a) - Number(b);
  return difference === 0 && a !== b ? compareDecimals(decimalOf(a), decimalOf(b)) : Math.sign(difference);
}

/** Significant digits that every double keeps. */
const preciseDigits = 15;
const preciseMin = 1e-290;

/**
 * Whether a number is the only one of at most 15 significant digits with its double. If two numbers are precise and
 * their doubles are equal, so are they.
 */
export function isPrecise(text: string): boolean {
  const { digits } = decimalOf(text);
  return digits === "" || (digits.length <= preciseDigits && Math.abs(Number(text)) >= preciseMin);
}

/** `sign` times 0.`digits` times 10 to the power of `exponent`. Zero has no digits. */
type Decimal = { sign: number; digits: string; exponent: bigint };

function decimalOf(text: string): Decimal {
  const [, minus, whole, fraction = "", exponent = "0"] =
    /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(text)!;
  const all = whole! + fraction;
  const leading = /^0*/.exec(all)![0].length;
  return {
    sign: minus ? -1 : 1,
    digits: withoutZeros(all.slice(leading)),
    exponent: BigInt(exponent.replace("+", "")) + BigInt(whole!.length - leading),
  };
}

function withoutZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === 0x30) end--;
  return digits.slice(0, end);
}

function compareDecimals(a: Decimal, b: Decimal): number {
  if (a.digits === "" || b.digits === "") return signOf(a) - signOf(b);
  if (a.sign !== b.sign) return a.sign;
  if (a.exponent !== b.exponent) return a.exponent < b.exponent ? -a.sign : a.sign;
  if (a.digits === b.digits) return 0;
  return a.digits < b.digits ? -a.sign : a.sign;
}

function signOf({ sign, digits }: Decimal): number {
  return digits === "" ? 0 : sign;
}

type Bound = { value: string; isIncluded: boolean };
/** A range of numbers. Without a bound, it is open on that side. */
export type NumberRange = { from?: Bound; to?: Bound };

/** Whether a text is a number in a range. */
export function isInRange(range: NumberRange, text: string): boolean {
  return isNumber(text) && positionIn(range)(text) === 0;
}

/** Returns a function that tells whether a number is below a range (negative), in it (0) or above it. */
export function positionIn({ from, to }: NumberRange): (number: string) => -1 | 0 | 1 {
  const low = from ? Number(from.value) : Number.NEGATIVE_INFINITY;
  const high = to ? Number(to.value) : Number.POSITIVE_INFINITY;
  return (text) => {
    const number = Number(text);
    if (number < low) return -1;
    if (number > high) return 1;
    // Equal doubles can be of different numbers.
    if (number === low && isOutside(compareNumbers(text, from!.value), from!)) return -1;
    if (number === high && isOutside(-compareNumbers(text, to!.value), to!)) return 1;
    return 0;
  };
}

function isOutside(order: number, { isIncluded }: Bound): boolean {
  return order < 0 || (order === 0 && !isIncluded);
}
