import { useQuery } from "@tanstack/react-query";
import { limits } from "../../server/core/limits.ts";
import { countedTitle, countedWords } from "../../server/schemas/group-texts.ts";
import type { Metric } from "../../server/schemas/tile.ts";
import { overlapText, splitHead } from "../../server/schemas/tile-texts.ts";
import { Field, SelectField } from "../components/ui/field.tsx";
import { groupTypesQuery } from "../groups/groups.ts";
import { TagField } from "./tile-fields.tsx";
import type { TileForm } from "./tile-form.ts";

type Props = {
  form: TileForm;
  change: (next: Partial<TileForm>) => void;
  /** The types of groups that can be chosen. */
  types: readonly string[];
};

const metricLabels: Record<Metric, string> = {
  events: "Number of events",
  users: "Number of users",
  sum: "Sum of a tag",
  average: "Average of a tag",
  minimum: "Minimum of a tag",
  maximum: "Maximum of a tag",
};

/** The types of groups of a project, and those that the form has, which may be gone. */
export function useGroupTypes(project: string, { per, splitType }: TileForm): string[] {
  const { data = [] } = useQuery(groupTypesQuery(project));
  return [...new Set([...data.map(({ type }) => type), per, splitType])].filter((type) => type !== "");
}

/** What a tile computes: of events, or how many users or groups there are. */
export function MetricField({ form, change, types }: Props) {
  const groupsValue = (type: string) => `users ${type}`;
  return (
    <SelectField
      label="Show"
      className="flex-1"
      value={form.metric === "users" && form.per !== "" ? groupsValue(form.per) : form.metric}
      onChange={({ target }) => {
        const per = types.find((type) => groupsValue(type) === target.value);
        change(per === undefined ? { metric: target.value as Metric, per: "" } : { metric: "users", per });
      }}
      member="tile/metric"
    >
      {Object.entries(metricLabels).flatMap(([each, label]) => [
        <option key={each} value={each}>
          {label}
        </option>,
        ...(each === "users" ? types : []).map((type) => (
          <option key={groupsValue(type)} value={groupsValue(type)}>
            Number of {countedWords(type)[1]}
          </option>
        )),
      ])}
    </SelectField>
  );
}

/** Whom a tile follows. Without groups, there is nothing to choose. */
export function CountedField({ form, change, types }: Props) {
  if (types.length === 0) return null;
  return (
    <SelectField
      label="Count"
      value={form.per}
      onChange={({ target }) => change({ per: target.value })}
      hint={
        form.per === ""
          ? undefined
          : `An event counts for the ${form.per} that it names, or else for the ${countedWords(form.per)[1]} of its user.`
      }
      member="tile/per"
    >
      {[undefined, ...types].map((type) => (
        <option key={type ?? ""} value={type ?? ""}>
          {countedTitle(type)}
        </option>
      ))}
    </SelectField>
  );
}

/** What a tile is split by: values of events, a property of users, or groups. */
export function SplitFields({ form, change, types, isTable }: Props & { isTable: boolean }) {
  const { type, metric, splitBy, splitType, per } = form;
  const counted = per !== "" && (type === "funnel" || metric === "users") ? per : undefined;
  const groupValue = (type: string) => `group ${type}`;
  const needsKey = splitBy === "tag" || splitBy === "user";
  const shown = splitBy === "group" ? groupValue(splitType) : splitBy;
  return (
    <>
      <SelectField
        label={isTable ? "A row for each" : "Split by"}
        className="flex-1"
        value={isTable ? shown || "name" : shown}
        onChange={({ target }) => {
          const type = types.find((each) => groupValue(each) === target.value);
          change(
            type === undefined
              ? { splitBy: target.value as TileForm["splitBy"] }
              : { splitBy: "group", splitType: type },
          );
        }}
        hint={(splitBy === "group" && overlapText(`group.${splitType}`, counted)) || undefined}
        member={needsKey ? undefined : "tile/split"}
      >
        {!isTable && <option value="">Nothing</option>}
        <option value="channel">Channel</option>
        <option value="name">Name</option>
        <option value="tag">Tag</option>
        <option value="user">Property of the user</option>
        {types.map((type) => (
          <option key={type} value={groupValue(type)}>
            {splitHead(`group.${type}`)}
          </option>
        ))}
      </SelectField>
      {needsKey && (
        <TagField
          label={splitBy === "tag" ? "Tag to split by" : "Property to split by"}
          placeholder={splitBy === "tag" ? "amount" : "plan"}
          value={form.splitKey}
          onChange={(splitKey) => change({ splitKey })}
          member="tile/split"
        />
      )}
      {splitBy === "group" && (
        <Field
          label={`Property of the ${splitType}`}
          className="flex-1"
          value={form.splitProperty}
          onChange={({ target }) => change({ splitProperty: target.value })}
          maxLength={limits.tagKeyCharacters}
          placeholder="plan"
          hint={`Empty: a ${isTable ? "row" : "series"} for each ${splitType}.`}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
        />
      )}
    </>
  );
}
