import { limits } from "../../server/core/limits.ts";
import { type KeyKind, keyKinds, scopes } from "../../server/core/permissions.ts";
import { keyIdentifies } from "../../server/schemas/key-identify.ts";
import { formatDate } from "../components/dates.ts";
import { Choice, Choices, Field, SelectField, TextField } from "../components/ui/field.tsx";
import { memberError } from "../components/ui/form-errors.tsx";
import {
  type Expiry,
  identifyLabels,
  type KeySettings,
  originsOf,
  scopeLabels,
  withKind,
} from "./key-settings.ts";

const kindLabels: Record<KeyKind, { label: string; hint: string }> = {
  secret: { label: "Secret", hint: "For servers and scripts. Keep it private." },
  publishable: { label: "Publishable", hint: "For web pages. It only sends events." },
};

type Props = {
  settings: KeySettings;
  onChange: (settings: KeySettings) => void;
  error: unknown;
  /** A key that exists keeps its kind. */
  existing: boolean;
};

export function KeyFields({ settings, onChange, error, existing }: Props) {
  const { kind } = settings;
  const change = (changed: Partial<KeySettings>) => onChange({ ...settings, ...changed });
  return (
    <>
      <Field
        label="Name"
        value={settings.name}
        onChange={(event) => change({ name: event.target.value })}
        required
        maxLength={limits.keyNameCharacters}
        placeholder={kind === "secret" ? "Production" : "Website"}
        autoComplete="off"
        hint="Name it after the application that uses it."
        member="name"
      />
      {!existing && (
        <Choices label="Kind" className="sm:grid-cols-2">
          {keyKinds.map((each) => (
            <Choice
              key={each}
              type="radio"
              name="kind"
              {...kindLabels[each]}
              checked={kind === each}
              onChange={() => onChange(withKind(settings, each))}
            />
          ))}
        </Choices>
      )}
      {kind === "secret" ? (
        <Choices label="What it may do" member="scopes">
          {scopes.map((scope) => (
            <Choice
              key={scope}
              type="checkbox"
              name="scopes"
              {...scopeLabels[scope]}
              checked={settings.scopes.includes(scope)}
              onChange={(checked) =>
                change({
                  scopes: scopes.filter((each) =>
                    each === scope ? checked : settings.scopes.includes(each),
                  ),
                })
              }
            />
          ))}
        </Choices>
      ) : (
        <>
          <TextField
            label="Pages that may use it"
            value={settings.origins}
            onChange={(event) => change({ origins: event.target.value })}
            rows={2}
            placeholder="https://www.example.com"
            spellCheck={false}
            autoCapitalize="none"
            autoComplete="off"
            hint="Their origins, one on each line. https://*.example.com allows all subdomains. Empty allows all pages."
            member="origins"
            error={originError(error, settings)}
          />
          <Choices label="Joining anonymous IDs to users" className="sm:grid-cols-2" member="identify">
            {keyIdentifies.map((each) => (
              <Choice
                key={each}
                type="radio"
                name="identify"
                {...identifyLabels[each]}
                checked={settings.identify === each}
                onChange={() => change({ identify: each })}
              />
            ))}
          </Choices>
        </>
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField
          label="Expires"
          value={settings.expiry}
          onChange={(event) => change({ expiry: event.target.value as Expiry })}
          member={settings.expiry === "date" ? undefined : "expiresAt"}
        >
          <option value="never">Never</option>
          {settings.present && <option value="present">{formatDate(settings.present, "dayOfYear")}</option>}
          <option value="30">In 30 days</option>
          <option value="90">In 90 days</option>
          <option value="365">In a year</option>
          <option value="date">On a date…</option>
        </SelectField>
        {settings.expiry === "date" && (
          <Field
            label="Last day"
            type="date"
            required
            value={settings.date}
            onChange={(event) => change({ date: event.target.value })}
            member="expiresAt"
          />
        )}
        <Field
          label="Events a second"
          type="number"
          inputMode="numeric"
          min={1}
          max={limits.keyEventsPerSecond}
          value={settings.eventsPerSecond}
          onChange={(event) => change({ eventsPerSecond: event.target.value })}
          placeholder="Unlimited"
          hint="Averaged over ten seconds, so short bursts are allowed."
          member="eventsPerSecond"
        />
      </div>
    </>
  );
}

/** The error of the first invalid origin. */
function originError(error: unknown, settings: KeySettings): string | undefined {
  for (const [index, origin] of originsOf(settings).entries()) {
    const found = memberError(error, `origins/${index}`);
    if (found) return found.replace(`"origins.${index}"`, `"${origin}"`);
  }
  return undefined;
}
