/** Beside what is kept itself, for its place. */
export const entryBytes = 100;

/** Keeps what was used last, up to a number of bytes. */
export class Kept<Value> {
  readonly #bytesMax: number;
  readonly #values = new Map<string, { value: Value; bytes: number }>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get(key: string): Value | undefined {
    const known = this.#values.get(key);
    if (known === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, known);
    return known.value;
  }

  /** @param bytes - by which a value has grown, or that a new one takes */
  add(key: string, value: Value, bytes: number): void {
    const known = this.#values.get(key);
    const all = entryBytes + bytes + (known?.value === value ? known.bytes : 0);
    this.#bytes += all - (known?.bytes ?? 0);
    this.#values.delete(key);
    this.#values.set(key, { value, bytes: all });
    for (const [oldest, { bytes }] of this.#values) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#values.delete(oldest);
      this.#bytes -= bytes;
    }
  }
}
