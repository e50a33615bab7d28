import { Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import type { UserProperties } from "../../server/schemas/user-rule.ts";
import { Button, IconButton } from "../components/ui/button.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { Alert } from "../components/ui/states.tsx";
import { type Comparison, orNone, whoChanged } from "../edits/differences.ts";
import { type EditOptions, useEdit } from "../edits/use-edit.tsx";
import { valueText } from "./user-table.tsx";

/** What has properties that can be edited: a user, or a group. */
type Owner = { properties: UserProperties; version: string };

type Props<Thing extends Owner> = {
  thing: Thing;
  mayChange: boolean;
  /** The request that sets them. */
  request: string;
} & Pick<EditOptions<Thing, PropertyRow[], unknown>, "what" | "keys"> & {
    save: (properties: UserProperties, base: Thing) => Promise<unknown>;
    /** The problem that says that it was deleted, and what creates it again. */
    gone: { code: string; recreate: (properties: UserProperties) => Promise<unknown> };
  };

/** Properties, which the application or a member has set. */
export function Properties<Thing extends Owner>(props: Props<Thing>) {
  const { thing, mayChange, request } = props;
  const [isEditing, setEditing] = useState(false);
  const properties = Object.entries(thing.properties);
  return (
    <section aria-label="Properties">
      <div className="mb-1 flex h-8 items-center justify-between max-md:h-10">
        <h2 className="font-semibold text-sm">Properties</h2>
        {mayChange && (
          <IconButton
            label="Edit properties"
            className="size-8 max-md:size-10"
            onClick={() => setEditing(true)}
          >
            <Pencil aria-hidden className="size-3.5" />
          </IconButton>
        )}
      </div>
      {properties.length === 0 ? (
        <p className="text-muted text-sm">
          None yet. {mayChange ? "Add a name or a plan here, or set" : "Your application can set"} them with{" "}
          <code className="font-mono text-xs">{request}</code>
        </p>
      ) : (
        <dl className="text-sm">
          {properties.map(([name, value]) => (
            <div key={name} className="flex gap-3 border-line border-b py-1.5 last:border-b-0">
              <dt className="hostile w-[38%] shrink-0 text-muted">{name}</dt>
              <dd className="hostile min-w-0 flex-1 whitespace-pre-wrap">
                {value === null ? <span className="text-faint">null</span> : String(value)}
              </dd>
            </div>
          ))}
        </dl>
      )}
      {isEditing && <PropertiesDialog {...props} close={() => setEditing(false)} />}
    </section>
  );
}

/** `original` is kept if the value is not edited, so that 5 and "5" stay apart. */
type PropertyRow = { id: number; name: string; value: string; original: UserProperties[string] | undefined };

let ids = 0;
const newRow = (): PropertyRow => ({ id: ids++, name: "", value: "", original: undefined });

const inputClass =
  "h-9 min-w-0 flex-1 rounded-md border border-line-strong bg-raised px-2.5 text-sm max-md:h-11 max-md:text-lg";

function rowsOf({ properties }: Owner): PropertyRow[] {
  const rows = Object.entries(properties).map(([name, original]) => ({
    id: ids++,
    name,
    value: valueText(original),
    original,
  }));
  return [...rows, newRow()];
}

/** Each property is compared by itself. */
const comparison: Comparison<PropertyRow[]> = {
  differences(...forms) {
    const names = new Set(forms.flat().map(({ name }) => name));
    return [...names].flatMap((name) => {
      if (name === "") return [];
      const [base, mine, theirs] = forms.map((rows) => rows.find((row) => row.name === name));
      const value = (row: PropertyRow | undefined) => row && valueIn(row);
      const changedBy = whoChanged(value(base), value(mine), value(theirs));
      if (changedBy === null) return [];
      const text = (row: PropertyRow | undefined) => (row ? orNone(row.value, "Empty") : "No such property");
      return [
        { key: name, label: name, changedBy, before: text(base), mine: text(mine), theirs: text(theirs) },
      ];
    });
  },
  merge(mine, theirs, choices) {
    const isTheirs = ({ name }: PropertyRow) => choices[name] === "theirs";
    return [...mine.filter((row) => !isTheirs(row)), ...theirs.filter(isTheirs)];
  },
};

function PropertiesDialog<Thing extends Owner>({
  thing,
  what,
  keys,
  save,
  gone,
  close,
}: Props<Thing> & { close: () => void }) {
  const edit = useEdit<Thing, PropertyRow[]>({
    thing,
    what,
    formOf: rowsOf,
    compare: comparison,
    keys,
    save: (rows, base) => save(propertiesOf(rows), base),
    saved: close,
    gone: { code: gone.code, recreate: (rows) => gone.recreate(propertiesOf(rows)) },
  });
  const { form: rows, change: setRows } = edit;
  const change = (id: number, part: Partial<PropertyRow>) =>
    setRows(rows.map((row) => (row.id === id ? { ...row, ...part } : row)));
  const names = rows.map(({ name }) => name).filter(Boolean);
  const repeated = names.find((name, at) => names.indexOf(name) !== at);

  return (
    <>
      <FormDialog
        title="Properties"
        wide
        error={edit.error}
        action="Save"
        busy={edit.isPending}
        disabled={repeated !== undefined}
        submit={() => edit.submit()}
        close={close}
      >
        {repeated !== undefined && <Alert>There are two properties with the name "{repeated}".</Alert>}
        {rows.map(({ id, name, value }) => (
          <div key={id} className="flex items-center gap-2">
            <input
              aria-label="Name"
              placeholder="Name"
              dir="auto"
              value={name}
              onChange={(event) => change(id, { name: event.target.value })}
              className={inputClass}
            />
            <input
              aria-label={`Value of ${name || "the new property"}`}
              placeholder="Value"
              dir="auto"
              value={value}
              onChange={(event) => change(id, { value: event.target.value, original: undefined })}
              className={inputClass}
            />
            <IconButton
              label={`Remove ${name || "this row"}`}
              className="size-8 max-md:size-10"
              onClick={() => setRows(rows.filter((row) => row.id !== id))}
            >
              <Trash2 aria-hidden className="size-4" />
            </IconButton>
          </div>
        ))}
        <Button variant="ghost" className="self-start" onClick={() => setRows([...rows, newRow()])}>
          <Plus aria-hidden className="size-4" />
          Add property
        </Button>
        <p className="text-faint text-xs">
          <code className="font-mono">true</code>, <code className="font-mono">false</code> and numbers are
          stored as such.
        </p>
      </FormDialog>
      {edit.dialog}
    </>
  );
}

/** Rows without a name are left out. `fromEntries` would lose a property named `__proto__`. */
function propertiesOf(rows: readonly PropertyRow[]): UserProperties {
  const properties: UserProperties = {};
  for (const row of rows) {
    const { name } = row;
    if (name === "") continue;
    Object.defineProperty(properties, name, {
      value: valueIn(row),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return properties;
}

function valueIn({ value, original }: PropertyRow): UserProperties[string] {
  return original === undefined ? typedValue(value) : original;
}

/** A number only if it is written as JSON writes it, so that "007" and long digits stay texts. */
function typedValue(text: string): UserProperties[string] {
  if (text === "true" || text === "false") return text === "true";
  return text !== "" && String(Number(text)) === text && Number.isFinite(Number(text)) ? Number(text) : text;
}
