import { numberOf } from "../../event/number.ts";
import { grown } from "./grown.ts";

/** Parts of a whole that the fast path adds up. */
const unitsPerWhole = 1e9;
/** Below this, a double has room for units. */
const fractionMax = 2 ** 53 / unitsPerWhole;
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

  add(cell: number, numbers: TagNumbers, index: number): void {
    while (cell >= this.#wholes.length) {
      this.#wholes = grown(this.#wholes);
      this.#units = grown(this.#units);
    }
    const double = numbers.doubles[index]!;
    const text = numbers.texts.size > 0 ? numbers.texts.get(index) : undefined;
    if (text !== undefined) this.#addLarge(cell, scaledOf(text));
    else if (Math.trunc(double) === double && Math.abs(double) < safeMax) {
      const sum = this.#wholes[cell]! + double;
      this.#wholes[cell] = sum;
      if (sum > safeMax || sum < -safeMax) this.#moveToLarge(cell);
    } else {
      const units = Math.round(double * unitsPerWhole);
      // The division is rounded once, so this holds only for the decimal that stands for the double.
      if (Math.abs(double) >= fractionMax || units / unitsPerWhole !== double) {
        this.#addLarge(cell, scaledOf(String(double)));
        return;
      }
      if (Math.abs(this.#units[cell]!) > safeMax || Math.abs(units) > safeMax) this.#moveToLarge(cell);
      this.#units[cell]! += units;
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

  #addLarge(cell: number, summand: Scaled): void {
    const known = this.#large.get(cell);
    this.#large.set(cell, known ? plus(known, summand) : summand);
  }
}

function fits(sum: number): boolean {
  return sum <= safeMax && sum >= -safeMax;
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
