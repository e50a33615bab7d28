/** Beside what is kept itself, for its key and its place. */
const entryBytes = 150;

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

  set(key: string, value: Value, bytes: number): void {
    const known = this.#values.get(key);
    if (known) this.#bytes -= known.bytes;
    this.#values.delete(key);
    this.#values.set(key, { value, bytes: bytes + entryBytes });
    this.#bytes += bytes + entryBytes;
    for (const [oldest, { bytes }] of this.#values) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#values.delete(oldest);
      this.#bytes -= bytes;
    }
  }
}
