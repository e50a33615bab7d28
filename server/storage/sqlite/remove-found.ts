import type { FoundEvents, OneEvent, Removal, Removed } from "../event-queries.ts";
import type { Reader } from "./reader.ts";
import type { Writer } from "./writer.ts";

/** Events that the reader finds at a time. */
const foundMax = 5_000;

/** Has the reader find events, and the writer remove some of them in each step. */
export function createRemoveFound(reader: Reader, writer: Writer) {
  return async function remove(removal: Removal | OneEvent, limit: number, jobId?: string): Promise<Removed> {
    if ("id" in removal) return { ids: (await writer.remove(removal, jobId)).ids, next: null };
    const { found: left, ...rest } = removal;
    const { rows, isAll } =
      left ?? (await reader.request<FoundEvents>({ kind: "findRemovable", removal: rest, limit: foundMax }));
    if (rows.length === 0) return { ids: [], next: null };
    const { ids, tried } = await writer.remove({ ...rest, rows: rows.slice(0, limit) }, jobId);
    if (tried < rows.length) return { ids, next: { ...rest, found: { rows: rows.slice(tried), isAll } } };
    return { ids, next: isAll ? null : { ...rest, fromMs: rows.at(-1)!.ms } };
  };
}
