import type { FoundEvent, FoundEvents, OneEvent, Removal, Removed } from "../event-queries.ts";
import type { Reader } from "./reader.ts";
import type { Writer } from "./writer.ts";

/** Events that the reader finds at a time. */
const foundMax = 5_000;

/** Has the reader find events, and the writer remove some of them in each step. */
export function createRemoveFound(reader: Reader, writer: Writer) {
  const find = (removal: Removal, after: FoundEvent | null) =>
    reader.request<FoundEvents>({ kind: "findRemovable", removal, after, limit: foundMax });

  return async function remove(removal: Removal | OneEvent, limit: number, jobId?: string): Promise<Removed> {
    if ("id" in removal) return { ids: (await writer.remove(removal, jobId)).ids, next: null };
    const { found, ...rest } = removal;
    const { rows, last } = found && found.rows.length > 0 ? found : await find(rest, found?.last ?? null);
    if (rows.length === 0) return { ids: [], next: null };
    const { ids, tried } = await writer.remove({ ...rest, rows: rows.slice(0, limit) }, jobId);
    const left = rows.slice(tried);
    const isOver = left.length === 0 && last === null;
    return { ids, next: isOver ? null : { ...rest, found: { rows: left, last } } };
  };
}
