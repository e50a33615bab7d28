import { fileWriter, ParquetWriter, schemaFromColumnData } from "hyparquet-writer";
import type { Event } from "../../event/event.ts";

/** Rows that are kept in memory until they are written together. */
const groupRows = 50_000;

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
  { name: "tags", type: "JSON", of: ({ tags }) => tags },
];

/** A Parquet file of events (https://parquet.apache.org), written in groups of rows. */
export class ParquetFile {
  readonly #writer: ParquetWriter;
  #events: Event[] = [];

  constructor(file: string) {
    const schema = schemaFromColumnData({ columnData: columnsOf([]) });
    this.#writer = new ParquetWriter({ writer: fileWriter(file), schema });
  }

  async add(event: Event): Promise<void> {
    if (this.#events.push(event) >= groupRows) await this.#writeGroup();
  }

  async finish(): Promise<void> {
    if (this.#events.length > 0) await this.#writeGroup();
    await this.#writer.finish();
  }

  async #writeGroup(): Promise<void> {
    await this.#writer.write({ columnData: columnsOf(this.#events), rowGroupSize: groupRows });
    this.#events = [];
  }
}

function columnsOf(events: Event[]) {
  return columns.map(({ name, type, of }) => ({ name, type, data: events.map(of) }));
}
