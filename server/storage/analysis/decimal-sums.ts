import { numberOf } from "../../event/number.ts";
import { grown } from "./grown.ts";

/** Parts of a whole that the fast path adds up. */
const unitsPerWhole = 1e9;
/** Below this, doubles are less than a unit apart, so that only one number of units has a given double. */
const fractionMax = 2 ** 23;
const preciseDigits = 15;
/** Up to here, a double can take one more summand and stay exact. */
const safeMax = 2 ** 52;
/** A number with more digits after the point counts as zero: it is less than any double. */
const scaleMax = 2_000;

/** A number times 10 to the power of `scale`. */
type Scaled = { units: bigint; scale: number };

/** Values of a tag as numbers, by index. Index 0 stands for an event without the tag. */
export class TagNumbers {
  size = 1;
  /** NaN if the value is not a number. */
  doubles = Float64Array.of(Number.NaN, 0);
  /** The texts of the numbers that have more digits than a double keeps. */
  readonly texts = new Map<number, string>();

  /** Adds numbers with the next indexes, in their order. */
  addDoubles(doubles: Float64Array): void {
    const size = this.size + doubles.length;
    if (size > this.doubles.length) {
      const larger = new Float64Array(size);
      larger.set(this.doubles.subarray(0, this.size));
      this.doubles = larger;
    }
    this.doubles.set(doubles, this.size);
    this.size = size;
  }

  addText(text: string): number {
    const number = numberOf(text);
    const index = this.#addDouble(number ?? Number.NaN);
    if (number !== null && !isPrecise(text, number)) this.texts.set(index, text);
    return index;
  }

  /** Returns the index. */
  #addDouble(double: number): number {
    if (this.size === this.doubles.length) this.doubles = grown(this.doubles);
    this.doubles[this.size] = double;
    return this.size++;
  }
}

/** Whether a number is the decimal that stands for its double: doubles keep 15 digits. */
function isPrecise(text: string, double: number): boolean {
  if (text.length <= preciseDigits && !/[eE]/.test(text)) return true;
  const [own, rounded] = [scaledOf(text), scaledOf(String(double))];
  const difference = plus(own, { units: -rounded.units, scale: rounded.scale });
  return difference.units === 0n;
}

/**
 * Sums of decimal numbers, exact however many there are: 0.1 and 0.2 are 0.3. Only the result is rounded to a double.
 */
export class DecimalSums {
  /** Whole numbers, and units of 10^-9 of others. */
  #wholes = new Float64Array(16);
  #units = new Float64Array(16);
  /** What does not fit into the arrays, by cell. */
  readonly #large = new Map<number, Scaled>();

  /** @param times - how often the number is added */
  add(cell: number, numbers: TagNumbers, index: number, times = 1): void {
    while (cell >= this.#wholes.length) {
      this.#wholes = grown(this.#wholes);
      this.#units = grown(this.#units);
    }
    const double = numbers.doubles[index]!;
    const text = numbers.texts.size > 0 ? numbers.texts.get(index) : undefined;
    if (text !== undefined) this.#addLarge(cell, scaledOf(text), times);
    else if (Math.trunc(double) === double && Math.abs(double * times) < safeMax) {
      const sum = this.#wholes[cell]! + double * times;
      this.#wholes[cell] = sum;
      if (sum > safeMax || sum < -safeMax) this.#moveToLarge(cell);
    } else {
      const units = Math.round(double * unitsPerWhole);
      // The division is rounded once, so this holds only for the decimal that stands for the double.
      if (Math.abs(double) >= fractionMax || units / unitsPerWhole !== double) {
        this.#addLarge(cell, scaledOf(String(double)), times);
        return;
      }
      const product = units * times;
      if (times > 1 && Math.abs(product) > safeMax)
        this.#addLarge(cell, { units: BigInt(units), scale: 9 }, times);
      else {
        if (Math.abs(this.#units[cell]!) > safeMax || Math.abs(product) > safeMax) this.#moveToLarge(cell);
        this.#units[cell]! += product;
      }
    }
  }

  /** Adds a cell of these or other sums to a cell. */
  merge(cell: number, other: number, sums: DecimalSums = this): void {
    const wholes = (this.#wholes[cell] ?? 0) + (sums.#wholes[other] ?? 0);
    const units = (this.#units[cell] ?? 0) + (sums.#units[other] ?? 0);
    if (cell < this.#wholes.length && !sums.#large.has(other) && fits(wholes) && fits(units)) {
      this.#wholes[cell] = wholes;
      this.#units[cell] = units;
    } else this.#addLarge(cell, sums.#sum(other));
  }

  /** The double nearest to a sum. */
  number(cell: number): number {
    const { units, scale } = this.#sum(cell);
    return Number(`${units}e${-scale}`);
  }

  /** The double nearest to the mean of a sum's summands, also if the sum is beyond doubles. */
  mean(cell: number, count: number): number {
    const wholes = this.#wholes[cell] ?? 0;
    // A double's division is exact but for its one rounding.
    if (!this.#large.has(cell) && !this.#units[cell]) return wholes / count;
    const { units, scale } = this.#sum(cell);
    return quotient(units, BigInt(count) * 10n ** BigInt(scale));
  }

  #sum(cell: number): Scaled {
    const large = this.#large.get(cell);
    return large ? plus(large, this.#small(cell)) : this.#small(cell);
  }

  #small(cell: number): Scaled {
    const wholes = BigInt(this.#wholes[cell] ?? 0) * BigInt(unitsPerWhole);
    return { units: wholes + BigInt(this.#units[cell] ?? 0), scale: 9 };
  }

  #moveToLarge(cell: number): void {
    this.#addLarge(cell, this.#small(cell));
    this.#wholes[cell] = 0;
    this.#units[cell] = 0;
  }

  #addLarge(cell: number, { units, scale }: Scaled, times = 1): void {
    const known = this.#large.get(cell);
    const summand = { units: units * BigInt(times), scale };
    this.#large.set(cell, known ? plus(known, summand) : summand);
  }
}

function fits(sum: number): boolean {
  return sum <= safeMax && sum >= -safeMax;
}

/** The exponent of the least double. */
const exponentMin = -1_074;
const significandBits = 53;

/** The double nearest to a fraction; of two equally near ones the even one (IEEE 754, section 4.3.1). */
function quotient(numerator: bigint, denominator: bigint): number {
  const magnitude = numerator < 0n ? -numerator : numerator;
  // The quotient then has 53 or 54 bits, or those down to the least double's.
  const exponent = Math.max(bitsOf(magnitude) - bitsOf(denominator) - significandBits, exponentMin);
  const whole = divided(magnitude, denominator, exponent);
  const rounded =
    whole < 2n ** BigInt(significandBits) ? whole : divided(magnitude, denominator, exponent + 1);
  const double = Number(rounded) * 2 ** (whole === rounded ? exponent : exponent + 1);
  return numerator < 0n ? -double : double;
}

/** A fraction divided by a power of 2, rounded. */
function divided(numerator: bigint, denominator: bigint, exponent: number): bigint {
  const above = exponent < 0 ? numerator << BigInt(-exponent) : numerator;
  const below = exponent > 0 ? denominator << BigInt(exponent) : denominator;
  const whole = above / below;
  const twice = 2n * (above - whole * below);
  return twice > below || (twice === below && whole % 2n === 1n) ? whole + 1n : whole;
}

function bitsOf(number: bigint): number {
  const digits = number.toString(16);
  return 4 * digits.length - Math.clz32(Number.parseInt(digits[0]!, 16)) + 28;
}

function plus(a: Scaled, b: Scaled): Scaled {
  const scale = Math.max(a.scale, b.scale);
  const unitsAt = ({ units, scale: own }: Scaled) => units * 10n ** BigInt(scale - own);
  return { units: unitsAt(a) + unitsAt(b), scale };
}

/** @param text - a number that a double can hold */
function scaledOf(text: string): Scaled {
  const [, minus, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(
    text,
  )!;
  const units = BigInt(`${minus}${whole}${fraction}`);
  const scale = fraction.length - Number(exponent);
  if (units === 0n || scale > scaleMax) return { units: 0n, scale: 0 };
  return scale >= 0 ? { units, scale } : { units: units * 10n ** BigInt(-scale), scale: 0 };
}
