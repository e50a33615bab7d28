import { fileWriter, ParquetWriter, schemaFromColumnData } from "hyparquet-writer";
import type { Event } from "../../event/event.ts";

/** Rows that are kept in memory until they are written together. Memory grows with it, and files with less hardly do. */
const groupRows = 10_000;

type Column = {
  name: string;
  type: "STRING" | "TIMESTAMP" | "BOOLEAN" | "JSON";
  of: (event: Event) => unknown;
};

const columns: Column[] = [
  { name: "id", type: "STRING", of: ({ id }) => id },
  { name: "createdAt", type: "TIMESTAMP", of: ({ createdAt }) => new Date(createdAt) },
  { name: "channelId", type: "STRING", of: ({ channelId }) => channelId },
  { name: "name", type: "STRING", of: ({ name }) => name },
  { name: "userId", type: "STRING", of: ({ userId }) => userId },
  { name: "notify", type: "BOOLEAN", of: ({ notify }) => notify },
  { name: "icon", type: "STRING", of: ({ icon }) => icon ?? null },
  { name: "event", type: "STRING", of: ({ event }) => event ?? null },
  { name: "description", type: "STRING", of: ({ description }) => description ?? null },
  // The writer copies objects that have a prototype, without a tag `__proto__`.
  { name: "tags", type: "JSON", of: ({ tags }) => Object.assign(Object.create(null), tags) },
];

/** A Parquet file of events (https://parquet.apache.org), written in groups of rows. */
export class ParquetFile {
  readonly #writer: ParquetWriter;
  #rows = 0;
  #group = emptyGroup();

  constructor(file: string) {
    const schema = schemaFromColumnData({ columnData: emptyGroup() });
    this.#writer = new ParquetWriter({ writer: fileWriter(file), schema });
  }

  async add(event: Event): Promise<void> {
    for (const [index, { of }] of columns.entries()) this.#group[index]!.data.push(of(event));
    if (++this.#rows >= groupRows) await this.#writeGroup();
  }

  async finish(): Promise<void> {
    if (this.#rows > 0) await this.#writeGroup();
    await this.#writer.finish();
  }

  async #writeGroup(): Promise<void> {
    await this.#writer.write({ columnData: this.#group, rowGroupSize: groupRows });
    this.#rows = 0;
    this.#group = emptyGroup();
  }
}

function emptyGroup() {
  return columns.map(({ name, type }) => ({ name, type, data: [] as unknown[] }));
}
