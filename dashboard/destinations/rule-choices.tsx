import { useQuery } from "@tanstack/react-query";
import { Choice, Choices } from "../components/ui/field.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { rulesQuery } from "../rules/rules.ts";

/** Chooses the rules that notify a new destination. Without one, it gets nothing. */
export function RuleChoices({
  chosen,
  onChange,
}: {
  chosen: string[];
  onChange: (chosen: string[]) => void;
}) {
  const { data: rules = [] } = useQuery(rulesQuery(useProjectSlug()));
  return (
    <div className="flex flex-col gap-2">
      <Choices
        label="Which rules notify it?"
        className="sm:grid-cols-2"
        member="rules"
        subject="The destination"
      >
        {rules.map(({ id, name, enabled }) => (
          <Choice
            key={id}
            type="checkbox"
            name="rules"
            label={name}
            hint={enabled ? "" : "Turned off"}
            checked={chosen.includes(id)}
            onChange={(isChosen) =>
              onChange(isChosen ? [...chosen, id] : chosen.filter((each) => each !== id))
            }
          />
        ))}
      </Choices>
      {chosen.length === 0 && (
        <p role="status" className="text-muted text-xs">
          Without a rule it gets nothing. You can also choose it later, in a rule.
        </p>
      )}
    </div>
  );
}
