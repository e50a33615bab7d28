import type { ProjectDestination } from "../../server/schemas/destination.ts";
import type { Member } from "../../server/schemas/member.ts";
import type { OnCallSchedule } from "../../server/schemas/on-call.ts";
import { Choice, Choices, SelectField } from "../components/ui/field.tsx";
import type { RecipientForm } from "./rule-form.ts";

type Props<Form> = {
  form: Form;
  onChange: (form: Form) => void;
  members: Member[];
  schedules: OnCallSchedule[];
  destinations: ProjectDestination[];
  label?: string;
  /** Of the request, for which these are the recipients. */
  member?: string;
};

/** Chooses the recipients of a rule, or of a step of its escalation. */
export function RecipientFields<Form extends RecipientForm>({
  form,
  onChange,
  members,
  schedules,
  destinations,
  label = "Whom to notify",
  member = "to",
}: Props<Form>) {
  const toggled = (ids: string[], id: string) =>
    ids.includes(id) ? ids.filter((each) => each !== id) : [...ids, id];
  return (
    <>
      <Choices label={label} className="sm:grid-cols-2" member={member} subject="The rule">
        <Choice
          type="checkbox"
          name="everyone"
          label="Everyone"
          hint="All members, also those who join later"
          checked={form.everyone}
          onChange={(everyone) => onChange({ ...form, everyone })}
        />
        {!form.everyone &&
          members.map(({ id, name, email }) => (
            <Choice
              key={id}
              type="checkbox"
              name="members"
              label={name || email}
              hint={email}
              checked={form.members.includes(id)}
              onChange={() => onChange({ ...form, members: toggled(form.members, id) })}
            />
          ))}
        {!form.everyone &&
          schedules.map(({ id, name }) => (
            <Choice
              key={id}
              type="checkbox"
              name="schedules"
              label={name}
              hint="Whoever is on call"
              checked={form.schedules.includes(id)}
              onChange={() => onChange({ ...form, schedules: toggled(form.schedules, id) })}
            />
          ))}
        {destinations.map(({ id, name, enabled }) => (
          <Choice
            key={id}
            type="checkbox"
            name="destinations"
            label={name}
            hint={enabled ? "Destination" : "Destination, turned off"}
            checked={form.destinations.includes(id)}
            onChange={() => onChange({ ...form, destinations: toggled(form.destinations, id) })}
          />
        ))}
      </Choices>
      {form.destinations.length > 0 && destinations.length > 1 && (
        <SelectField
          label="If a destination fails, notify"
          value={form.fallback}
          onChange={(event) => onChange({ ...form, fallback: event.target.value })}
          member={`${member}/fallback`}
          hint="It gets what could not be delivered to the others."
        >
          <option value="">Nothing else</option>
          {destinations
            .filter(({ id }) => id === form.fallback || !form.destinations.includes(id))
            .map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
        </SelectField>
      )}
    </>
  );
}
