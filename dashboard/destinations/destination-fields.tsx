import type { FormField, ProjectDestination } from "../../server/schemas/destination.ts";
import { Choice, Choices, Field, SelectField } from "../components/ui/field.tsx";

/** The entered values by their fields' names. An empty text is not set. */
export type Entered = Record<string, string | boolean>;

type Props = {
  fields: FormField[];
  entered: Entered;
  onChange: (entered: Entered) => void;
  /** The last characters of the secrets that are already set. */
  secrets?: ProjectDestination["secrets"];
};

/** The settings of a kind of destination. */
export function DestinationFields({ fields, entered, onChange, secrets = {} }: Props) {
  return fields.map((field) => {
    const { name, title, description, type, choices = [] } = field;
    const value = entered[name] ?? "";
    const change = (changed: string | boolean) => onChange({ ...entered, [name]: changed });
    const ending = secrets[name];
    const required = field.required && ending === undefined;
    const labels = { label: title, member: `settings/${name}` };
    if (type === "boolean") {
      return (
        <Choices key={name} {...labels}>
          <Choice
            type="checkbox"
            name={name}
            label={description}
            checked={value === true}
            onChange={change}
          />
        </Choices>
      );
    }
    if (type === "choice") {
      return (
        <SelectField
          key={name}
          {...labels}
          hint={description}
          required={required}
          value={String(value)}
          onChange={(event) => change(event.target.value)}
        >
          {!required && <option value="" />}
          {choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </SelectField>
      );
    }
    return (
      <Field
        key={name}
        {...labels}
        hint={ending === undefined ? description : secretHint(ending)}
        type={isHidden(field) ? "password" : "text"}
        inputMode={type === "number" ? "numeric" : type === "url" ? "url" : "text"}
        required={required}
        value={String(value)}
        onChange={(event) => change(event.target.value)}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
    );
  });
}

/** Whether a field hides its text. Secrets are hidden, but not URLs: people compare these with the original. */
function isHidden({ secret, type }: FormField): boolean {
  return secret && type !== "url";
}

function secretHint(ending: string): string {
  return `Set${ending && `, ends in …${ending}`}. Leave it empty to keep it.`;
}

/** The form's initial values: the settings, or the defaults of a new destination. */
export function enteredOf(fields: FormField[], destination?: ProjectDestination): Entered {
  return Object.fromEntries(
    fields.map(({ name, type, default: preset }) => {
      // The settings come without secrets.
      const value = destination ? destination.settings[name] : preset;
      if (type === "boolean") return [name, value === true];
      return [name, value === undefined ? "" : String(value)];
    }),
  );
}

/** Settings for a new destination. */
export function settingsOf(fields: FormField[], entered: Entered): Record<string, unknown> {
  return Object.fromEntries(
    fields.filter(({ name }) => entered[name] !== "").map((field) => [field.name, settingOf(field, entered)]),
  );
}

/** The changes to a destination's settings. An empty secret stays; any other empty setting is removed. */
export function settingsChangeOf(
  fields: FormField[],
  entered: Entered,
  destination: ProjectDestination,
): Record<string, unknown> {
  const before = enteredOf(fields, destination);
  return Object.fromEntries(
    fields
      .filter(({ name }) => entered[name] !== before[name])
      .map((field) => [field.name, entered[field.name] === "" ? null : settingOf(field, entered)]),
  );
}

function settingOf({ name, type }: FormField, entered: Entered): unknown {
  const value = entered[name];
  if (typeof value !== "string") return value;
  const text = value.trim();
  // The server explains why other text is no number.
  return type === "number" && Number.isFinite(Number(text)) ? Number(text) : text;
}
