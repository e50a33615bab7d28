import { type ColumnMap, mappedFields } from "../../transfer/column-map.ts";
import { nearest } from "../../validation/nearest.ts";
import { ArgumentError } from "../with-store.ts";

const otherColumns = "*";

/**
 * Parses `--map`: FIELD=COLUMN, separated by commas. A field is one of an event's, or `tags.KEY`; `tags=*` makes a tag of
 * every other column. Throws an ArgumentError.
 */
export function parseColumnMap(text: string): ColumnMap {
  const columns = new Map<string, string>();
  for (const pair of text.split(",")) {
    const equals = pair.indexOf("=");
    const field = pair.slice(0, Math.max(equals, 0)).trim();
    const isTag = field.startsWith("tags.") || pair.trim() === `tags=${otherColumns}`;
    if (!isTag && !mappedFields.includes(field)) {
      const suggestion = nearest(field, mappedFields);
      throw new ArgumentError(
        `--map must be FIELD=COLUMN, separated by commas; "${pair}" has none of the fields ${mappedFields.join(", ")}, tags.KEY.${suggestion ? ` Did you mean "${suggestion}"?` : ""}`,
      );
    }
    columns.set(field, pair.slice(equals + 1).trim());
  }
  return [...columns];
}

/** Throws an ArgumentError that lists the file's columns if one that the map needs is missing. */
export function checkColumns(map: ColumnMap, header: string[]): void {
  for (const [, column] of map) {
    if (column === otherColumns || header.includes(column)) continue;
    throw new ArgumentError(`The file has no column "${column}". Its columns: ${header.join(", ")}.`);
  }
}
