import { type Description, resolve, type Schema } from "./api-description.ts";
import { escapeHtml } from "./html.ts";
import { renderText, tableHtml } from "./render-page.ts";

const depthMax = 4;

type Row = { name: string; type: string; isRequired: boolean; description: string };

/** Returns a table of the fields of a schema. Those of inner objects follow, with their path. */
export function schemaTable(schema: Schema, description: Description): string {
  const rows = fieldsOf(schema, description, "", []);
  if (rows.length === 0) return `<p>${escapeHtml(typeOf(schema, description))}</p>\n`;
  return fieldTable("field", rows);
}

export function fieldTable(label: string, rows: Row[]): string {
  const body = rows.map(
    ({ name, type, isRequired, description }) =>
      `<tr><td><code>${escapeHtml(name)}</code>${isRequired ? ' <span class="required">required</span>' : ""}</td>` +
      `<td>${escapeHtml(type)}</td><td>${renderText(description)}</td></tr>`,
  );
  return tableHtml(`<tr><th>${label}</th><th>type</th><th>description</th></tr>`, body.join(""));
}

function fieldsOf(schema: Schema, description: Description, prefix: string, within: string[]): Row[] {
  const { schema: resolved, name } = resolve(schema, description);
  // A rule contains rules: the table names the type and stops.
  if ((name !== null && within.includes(name)) || within.length >= depthMax) return [];
  const path = [...within, name ?? ""];
  const { properties = {}, required = [], items, anyOf, oneOf, allOf } = resolved;
  if (items) return fieldsOf(items, description, `${prefix}[]`, within);
  const parts = anyOf ?? oneOf ?? allOf;
  if (parts) {
    const rows = parts.flatMap((part) => fieldsOf(part, description, prefix, path));
    const isShared = allOf !== undefined;
    const unique = new Map(rows.map((row) => [row.name, isShared ? row : { ...row, isRequired: false }]));
    return [...unique.values()];
  }
  return Object.entries(properties).flatMap(([key, property]) => {
    const full = prefix === "" ? key : `${prefix}.${key}`;
    return [
      {
        name: full,
        type: typeOf(property, description),
        isRequired: required.includes(key),
        description: descriptionOf(property, description),
      },
      ...fieldsOf(property, description, full, path),
    ];
  });
}

function descriptionOf(schema: Schema, description: Description): string {
  return schema.description ?? resolve(schema, description).schema.description ?? "";
}

/** Returns the type in words: `string, up to 64 characters`. */
export function typeOf(schema: Schema, description: Description): string {
  const { schema: resolved, name } = resolve(schema, description);
  const { enum: values, anyOf, oneOf, allOf, items, format } = resolved;
  if (values) return values.map((value) => JSON.stringify(value)).join(" or ");
  const parts = anyOf ?? oneOf;
  if (parts) return [...new Set(parts.map((part) => typeOf(part, description)))].join(" or ");
  if (name !== null) return name;
  if (allOf) return allOf.map((part) => typeOf(part, description)).join(" and ");
  if (items) return `array of ${typeOf(items, description)}`;
  const type = [resolved.type ?? "any"].flat().join(" or ");
  return [format ? `${type} (${format})` : type, ...boundsOf(resolved)].join(", ");
}

function boundsOf(schema: Schema): string[] {
  const { minimum, maximum, maxLength, maxProperties } = schema;
  const hasMaximum = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER;
  return [
    ...(maxLength === undefined ? [] : [`up to ${maxLength.toLocaleString("en")} characters`]),
    ...(maxProperties === undefined ? [] : [`up to ${maxProperties} keys`]),
    ...(minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER ? [`at least ${minimum}`] : []),
    ...(hasMaximum ? [`at most ${maximum.toLocaleString("en")}`] : []),
  ];
}
