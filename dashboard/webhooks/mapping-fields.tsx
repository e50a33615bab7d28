import { Plus, X } from "lucide-react";
import { limits } from "../../server/core/limits.ts";
import { Button, IconButton } from "../components/ui/button.tsx";
import { Field, SelectField, TextField } from "../components/ui/field.tsx";
import type { MappingForm, MappingText } from "./webhook-form.ts";

type Props = {
  mapping: MappingForm;
  onChange: (mapping: MappingForm) => void;
  /** The preview's error for a field of the mapping, such as `tags/amount`. */
  errorOf: (field: string) => string | undefined;
};

/** Maps a request to an event: a template for each field, and conditions. */
export function MappingFields({ mapping, onChange, errorOf }: Props) {
  const { notify, notifyWhen, tags } = mapping;
  const text = (name: MappingText) => ({
    value: mapping[name],
    onChange: (event: { target: { value: string } }) => onChange({ ...mapping, [name]: event.target.value }),
    maxLength: limits.webhookExpressionCharacters,
    member: `mapping/${name}`,
    error: errorOf(name),
    ...code,
  });
  const changeTag = (id: number, change: Partial<MappingForm["tags"][number]>) =>
    onChange({ ...mapping, tags: tags.map((tag) => (tag.id === id ? { ...tag, ...change } : tag)) });
  return (
    <>
      <Field
        label="Only if"
        hint="Other requests are ignored."
        placeholder='type != "ping"'
        {...text("when")}
      />
      <Field label="Event name" required placeholder="Order {{status}}" {...text("name")} />
      <div className="grid grid-cols-[1fr_6rem] gap-3">
        <Field label="User" placeholder="{{customer.id}}" {...text("userId")} />
        <Field label="Icon" placeholder="💰" {...text("icon")} />
      </div>
      <TextField label="Description" rows={2} placeholder="{{message}}" {...text("description")} />
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-1.5 font-medium text-sm">Tags</legend>
        {tags.map(({ id, key, value }, index) => (
          <div key={id} className="grid grid-cols-[1fr_1.6fr_auto] items-end gap-2">
            <Field
              label={`Tag ${index + 1}`}
              value={key}
              onChange={(event) => changeTag(id, { key: event.target.value })}
              maxLength={limits.tagKeyCharacters}
              placeholder="amount"
              autoComplete="off"
            />
            <Field
              label={`Value ${index + 1}`}
              value={value}
              onChange={(event) => changeTag(id, { value: event.target.value })}
              maxLength={limits.webhookExpressionCharacters}
              placeholder="{{amount}}"
              member={`mapping/tags/${key.trim()}`}
              error={errorOf(`tags/${key.trim()}`)}
              {...code}
            />
            <IconButton
              label={`Remove tag ${index + 1}`}
              title="Remove"
              className="size-9 max-md:size-11"
              onClick={() => onChange({ ...mapping, tags: tags.filter((tag) => tag.id !== id) })}
            >
              <X aria-hidden className="size-4" />
            </IconButton>
          </div>
        ))}
        <Button
          className="self-start"
          onClick={() =>
            onChange({
              ...mapping,
              tags: [...tags, { id: Math.max(-1, ...tags.map(({ id }) => id)) + 1, key: "", value: "" }],
            })
          }
        >
          <Plus aria-hidden className="size-3.5" />
          Add a tag
        </Button>
      </fieldset>
      <SelectField
        label="Notify"
        value={notify}
        onChange={(event) => onChange({ ...mapping, notify: event.target.value as MappingForm["notify"] })}
      >
        <option value="never">Never</option>
        <option value="always">Always</option>
        <option value="when">If a condition is met</option>
      </SelectField>
      {notify === "when" && (
        <Field
          label="Notify if"
          value={notifyWhen}
          onChange={(event) => onChange({ ...mapping, notifyWhen: event.target.value })}
          maxLength={limits.webhookExpressionCharacters}
          required
          placeholder="amount > 100"
          member="mapping/notify"
          error={errorOf("notify")}
          {...code}
        />
      )}
      <Field
        label="Time"
        hint="ISO 8601, or seconds or milliseconds since 1970. Empty uses the time of arrival."
        placeholder="{{created}}"
        {...text("createdAt")}
      />
      <Field
        label="Delivery ID"
        hint="Two requests with the same ID are one event. Empty uses the sender's own ID."
        placeholder="{{id}}"
        {...text("id")}
      />
    </>
  );
}

/** Templates and conditions are neither completed nor corrected. */
const code = { autoComplete: "off", autoCapitalize: "off", spellCheck: false } as const;
