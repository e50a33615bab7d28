/**
 * Reads ClickHouse's format Native (https://clickhouse.com/docs/interfaces/formats/Native), which has the values of a column
 * side by side, for the types that analyses ask for.
 */

/** Texts by index, from 1 on; index 0 is null. */
export type Texts = { indexes: Uint32Array; texts: string[] };

/** Columns by name, each with a value for each row. A `FixedString` has all its bytes. */
export class NativeBlock {
  readonly rows: number;
  readonly #columns = new Map<string, Uint8Array | Texts>();

  constructor(rows: number) {
    this.rows = rows;
  }

  add(name: string, column: Uint8Array | Texts): void {
    this.#columns.set(name, column);
  }

  bytes(name: string): Uint8Array {
    return this.#columns.get(name) as Uint8Array;
  }

  doubles(name: string): Float64Array {
    return new Float64Array(this.bytes(name).buffer);
  }

  texts(name: string): Texts {
    return this.#columns.get(name) as Texts;
  }
}

export async function* readNative(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<NativeBlock> {
  const reader = new ByteReader(chunks);
  while (await reader.hasMore()) {
    const columns = await reader.varint();
    const block = new NativeBlock(await reader.varint());
    for (let column = 0; column < columns; column++) {
      const name = await reader.text();
      const type = await reader.text();
      if (block.rows > 0) block.add(name, await readColumn(reader, type, block.rows));
    }
    if (block.rows > 0) yield block;
  }
}

async function readColumn(reader: ByteReader, type: string, rows: number): Promise<Uint8Array | Texts> {
  if (type === "UInt8") return reader.bytes(rows);
  if (type === "Float64") return reader.bytes(8 * rows);
  const [, fixed] = /^FixedString\((\d+)\)$/.exec(type) ?? [];
  if (fixed !== undefined) return reader.bytes(Number(fixed) * rows);
  if (type === "LowCardinality(Nullable(String))") return readTexts(reader);
  throw new Error(`ClickHouse sent a column of type ${type}`);
}

/** Bits of the number before a dictionary: the width of indexes, and that the block has a dictionary of its own. */
const widthMask = 0xff;
const ownKeysBit = 1 << 9;

async function readTexts(reader: ByteReader): Promise<Texts> {
  await reader.bytes(8);
  const kind = await reader.integer();
  if ((kind & ownKeysBit) === 0) throw new Error("ClickHouse sent a column without its texts");
  // The first stands for null.
  const keys = await reader.texts(await reader.integer());
  const rows = await reader.integer();
  const width = 1 << (kind & widthMask);
  const bytes = await reader.bytes(width * rows);
  const indexes = width === 1 ? bytes : width === 2 ? new Uint16Array(bytes.buffer) : bytes.buffer;
  return { indexes: new Uint32Array(indexes), texts: keys.slice(1) };
}

/** Reads values of chunks as they come. It waits only if a value is not there yet. */
class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #buffer: Uint8Array = new Uint8Array();
  #at = 0;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async hasMore(): Promise<boolean> {
    return this.#at < this.#buffer.length || (await this.#pull());
  }

  /** A copy of its own, so that its buffer can be read as other types. */
  async bytes(length: number): Promise<Uint8Array<ArrayBuffer>> {
    if (this.#buffer.length - this.#at < length) await this.#need(length);
    return new Uint8Array(this.#taken(length));
  }

  #taken(length: number): Uint8Array {
    this.#at += length;
    return this.#buffer.subarray(this.#at - length, this.#at);
  }

  /** 64 bits that are a small number. */
  async integer(): Promise<number> {
    return Number(new DataView((await this.bytes(8)).buffer).getBigUint64(0, true));
  }

  async varint(): Promise<number> {
    for (let value = 0, shift = 1; ; shift *= 128) {
      if (this.#at === this.#buffer.length) await this.#need(1);
      const byte = this.#buffer[this.#at++]!;
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
  }

  async text(): Promise<string> {
    return (await this.texts(1))[0]!;
  }

  async texts(count: number): Promise<string[]> {
    const texts = new Array<string>(count);
    for (let index = 0; index < count; index++) {
      // Most are short, and there: waiting for each would take several times as long.
      const short = this.#buffer[this.#at] ?? 128;
      if (short < 128) this.#at++;
      const length = short < 128 ? short : await this.varint();
      if (this.#buffer.length - this.#at < length) await this.#need(length);
      texts[index] = this.#decoder.decode(this.#taken(length));
    }
    return texts;
  }

  /** Waits until so many bytes are there. */
  async #need(length: number): Promise<void> {
    const parts = [this.#buffer.subarray(this.#at)];
    let has = parts[0]!.length;
    while (has < length) {
      const { done, value } = await this.#chunks.next();
      if (done) throw new Error("ClickHouse ended its answer early");
      parts.push(value);
      has += value.length;
    }
    this.#buffer = Buffer.concat(parts);
    this.#at = 0;
  }

  async #pull(): Promise<boolean> {
    for (;;) {
      const { done, value } = await this.#chunks.next();
      if (done) return false;
      if (value.length === 0) continue;
      this.#buffer = value;
      this.#at = 0;
      return true;
    }
  }
}
