import { Plus, X } from "lucide-react";
import { limits } from "../../server/core/limits.ts";
import type { CohortMatch, PropertyTest } from "../../server/schemas/cohort.ts";
import { Button } from "../components/ui/button.tsx";
import { Field, SelectField, TextField } from "../components/ui/field.tsx";
import { SearchField } from "../rules/search-field.tsx";
import { type Kind, kinds, type LeafForm, matchLabels, newCondition } from "./cohort-form.ts";

const tests: Record<PropertyTest, string> = {
  is: "is",
  isNot: "isn't",
  contains: "contains",
  above: "is above",
  below: "is below",
  exists: "exists",
  missing: "is missing",
};

type ListProps = {
  conditions: LeafForm[];
  onChange: (conditions: LeafForm[]) => void;
  match: CohortMatch;
  onMatch: (match: CohortMatch) => void;
  /** A JSON Pointer without the first slash: "conditions". */
  member: string;
  isInGroup?: boolean;
};

/** Conditions, and whether all, any or none of them must hold. */
export function ConditionList({
  conditions,
  onChange,
  match,
  onMatch,
  member,
  isInGroup = false,
}: ListProps) {
  return (
    <fieldset className="flex min-w-0 flex-col gap-3">
      <legend className="sr-only">{isInGroup ? "Conditions of the group" : "Conditions"}</legend>
      <SelectField
        label={isInGroup ? "A person passes" : "People who pass"}
        value={match}
        onChange={(event) => onMatch(event.target.value as CohortMatch)}
        className="md:max-w-80"
      >
        {Object.entries(matchLabels).map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </SelectField>
      {conditions.map((condition, index) => (
        <ConditionCard
          key={condition.key}
          condition={condition}
          number={index + 1}
          member={`${member}/${index}`}
          isInGroup={isInGroup}
          onChange={(changed) =>
            onChange(conditions.map((each) => (each.key === changed.key ? changed : each)))
          }
          {...(conditions.length > 1 && {
            remove: () => onChange(conditions.filter((each) => each.key !== condition.key)),
          })}
        />
      ))}
      <div>
        <Button
          onClick={() => onChange([...conditions, newCondition()])}
          disabled={conditions.length >= limits.cohortConditions}
        >
          <Plus aria-hidden className="size-4" />
          Add condition
        </Button>
      </div>
    </fieldset>
  );
}

type CardProps = {
  condition: LeafForm;
  number: number;
  member: string;
  isInGroup: boolean;
  onChange: (condition: LeafForm) => void;
  remove?: () => void;
};

function ConditionCard({ condition, number, member, isInGroup, onChange, remove }: CardProps) {
  const change = (changed: Partial<LeafForm>) => onChange({ ...condition, ...changed });
  return (
    <div className="flex flex-col gap-3 rounded-md border border-line bg-canvas p-3">
      <div className="flex items-end gap-2">
        <SelectField
          label={`Condition ${number}`}
          value={condition.kind}
          onChange={(event) => onChange({ ...newCondition(event.target.value as Kind), key: condition.key })}
          className="min-w-0 flex-1 md:max-w-80"
        >
          {Object.entries(kinds)
            .filter(([kind]) => !isInGroup || kind !== "group")
            .map(([kind, label]) => (
              <option key={kind} value={kind}>
                {label}
              </option>
            ))}
        </SelectField>
        {remove && (
          <Button onClick={remove} aria-label={`Remove condition ${number}`} className="ml-auto">
            <X aria-hidden className="size-4" />
          </Button>
        )}
      </div>
      <ConditionFields condition={condition} member={member} change={change} />
    </div>
  );
}

type FieldsProps = {
  condition: LeafForm;
  member: string;
  change: (changed: Partial<LeafForm>) => void;
};

function ConditionFields({ condition, member, change }: FieldsProps) {
  switch (condition.kind) {
    case "did":
    case "didNot":
      return <EventsFields condition={condition} member={member} change={change} />;
    case "property":
      return <PropertyFields condition={condition} member={member} change={change} />;
    case "firstSeen":
    case "lastSeen":
      return (
        <div className="grid gap-3 sm:grid-cols-2">
          <SelectField
            label="When"
            value={condition.isWithin ? "within" : "before"}
            onChange={(event) => change({ isWithin: event.target.value === "within" })}
          >
            <option value="within">In the last days</option>
            <option value="before">Longer ago</option>
          </SelectField>
          <DaysField
            label="Days"
            days={condition.days}
            member={`${member}/${condition.isWithin ? "withinDays" : "beforeDays"}`}
            onChange={(days) => change({ days })}
            required
          />
        </div>
      );
    case "search":
      return (
        <Field
          label="Search"
          value={condition.q}
          onChange={(event) => change({ q: event.target.value })}
          required
          maxLength={limits.userSearchCharacters}
          placeholder={'ada, or plan:"pro"'}
          hint="As in the list of users: part of an ID or a property."
          member={`${member}/q`}
          autoComplete="off"
          spellCheck={false}
        />
      );
    case "users":
      return (
        <TextField
          label="User IDs, one in a line"
          value={condition.userIds}
          onChange={(event) => change({ userIds: event.target.value })}
          required
          rows={4}
          member={`${member}/userIds`}
          autoComplete="off"
          spellCheck={false}
        />
      );
    case "group":
      return (
        <ConditionList
          isInGroup
          conditions={condition.conditions}
          onChange={(conditions) => change({ conditions })}
          match={condition.match}
          onMatch={(match) => change({ match })}
          member={`${member}/conditions`}
        />
      );
  }
}

function EventsFields({ condition, member, change }: FieldsProps) {
  return (
    <>
      <SearchField
        q={condition.q}
        onChange={(q) => change({ q })}
        member={`${member}/q`}
        label="Events"
        hint="A search, as in the feed. Empty counts all events."
        placeholder={'name:"Order placed"'}
      />
      <div className="grid gap-3 sm:grid-cols-3">
        <Field
          label={condition.kind === "did" ? "At least so many times" : "Fewer times than"}
          type="number"
          min={1}
          max={limits.cohortTimes}
          value={condition.times}
          onChange={(event) => change({ times: event.target.value })}
          required
          hint={condition.kind === "did" ? undefined : "1: never."}
          member={`${member}/${condition.kind === "did" ? "atLeast" : "atMost"}`}
        />
        {condition.kind === "did" && (
          <Field
            label="At most"
            type="number"
            min={1}
            max={limits.cohortTimes}
            value={condition.most}
            onChange={(event) => change({ most: event.target.value })}
            hint="Empty: any number."
            member={`${member}/atMost`}
          />
        )}
        <DaysField
          label="In the last days"
          days={condition.days}
          member={`${member}/days`}
          onChange={(days) => change({ days })}
          hint="Empty: at any time."
        />
      </div>
    </>
  );
}

function PropertyFields({ condition, member, change }: FieldsProps) {
  const { test } = condition;
  const isNumber = test === "above" || test === "below";
  return (
    <div className="grid gap-3 sm:grid-cols-3">
      <Field
        label="Property"
        value={condition.name}
        onChange={(event) => change({ name: event.target.value })}
        required
        maxLength={limits.tagKeyCharacters}
        placeholder="plan"
        member={`${member}/name`}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
      />
      <SelectField
        label="Comparison"
        value={test}
        onChange={(event) => change({ test: event.target.value as PropertyTest })}
        member={`${member}/test`}
      >
        {Object.entries(tests).map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </SelectField>
      {test !== "exists" && test !== "missing" && (
        <Field
          label={isNumber ? "Number" : "Values"}
          value={condition.value}
          onChange={(event) => change({ value: event.target.value })}
          required
          inputMode={isNumber ? "decimal" : "text"}
          placeholder={isNumber ? "10" : "pro, team"}
          member={`${member}/${isNumber ? "number" : "values"}`}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
        />
      )}
    </div>
  );
}

type DaysProps = {
  label: string;
  days: string;
  member: string;
  onChange: (days: string) => void;
  hint?: string;
  required?: boolean;
};

function DaysField({ days, onChange, ...field }: DaysProps) {
  return (
    <Field
      {...field}
      type="number"
      min={1}
      max={limits.cohortDays}
      value={days}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
