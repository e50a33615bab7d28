import { limits } from "../../server/core/limits.ts";
import type { ColumnMap } from "../../server/transfer/column-map.ts";
import { Choice, Field, SelectField } from "../components/ui/field.tsx";
import { columnFields, hasField, type ImportFormat, type ImportPlan, type Sample } from "./import-file.ts";

const lineFormats: Partial<Record<ImportFormat, string>> = {
  tidings: "Events in the format that Tidings exports and accepts",
  logsnag: "LogSnag",
  posthog: "PostHog",
  segment: "Segment",
};
const tableFormats: Partial<Record<ImportFormat, string>> = {
  columns: "Columns that I choose",
  csv: "Events exported by Tidings",
};
const fieldLabels: Record<string, string> = {
  channel: "Channel",
  name: "Name",
  userId: "User ID",
  createdAt: "Time",
  description: "Description",
  icon: "Icon",
  notify: "Notify",
  id: "ID",
};

type Props = { sample: Sample; plan: ImportPlan; change: (plan: ImportPlan) => void };

/** Source format, default channel and column mapping. */
export function ImportOptions({ sample, plan, change }: Props) {
  const { format, columns, channel } = plan;
  return (
    <>
      <div className="grid grid-cols-2 gap-3 max-md:grid-cols-1">
        <SelectField
          label="Format"
          value={format}
          onChange={({ target }) => change({ ...plan, format: target.value as ImportFormat })}
        >
          {Object.entries(sample.columns ? tableFormats : lineFormats).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
        <Field
          label="Default channel"
          value={channel}
          onChange={({ target }) => change({ ...plan, channel: target.value.trim() })}
          maxLength={limits.channelCharacters}
          placeholder={format === "posthog" || format === "segment" ? format : "None"}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
        />
      </div>
      {format === "columns" && (
        <Columns
          names={sample.columns ?? []}
          columns={columns}
          change={(changed) => change({ ...plan, columns: changed })}
        />
      )}
    </>
  );
}

type ColumnsProps = { names: string[]; columns: ColumnMap; change: (columns: ColumnMap) => void };

function Columns({ names, columns, change }: ColumnsProps) {
  const without = (field: string) => columns.filter(([mapped]) => mapped !== field);
  return (
    <fieldset>
      <legend className="mb-1.5 font-medium text-sm">Columns</legend>
      <div className="grid grid-cols-3 gap-3 rounded-md border border-line p-3 max-md:grid-cols-2">
        {columnFields.map((field) => (
          <SelectField
            key={field}
            label={fieldLabels[field]!}
            value={columns.find(([mapped]) => mapped === field)?.[1] ?? ""}
            onChange={({ target: { value } }) =>
              change(value === "" ? without(field) : [...without(field), [field, value]])
            }
          >
            <option value="">None</option>
            {names.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </SelectField>
        ))}
      </div>
      <div className="mt-2">
        <Choice
          type="checkbox"
          name="tags"
          label="Other columns become tags"
          checked={hasField(columns, "tags")}
          onChange={(on) => change(on ? [...columns, ["tags", "*"]] : without("tags"))}
        />
      </div>
    </fieldset>
  );
}
