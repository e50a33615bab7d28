import { useQuery } from "@tanstack/react-query";
import { channelsQuery } from "../channels/channels.ts";
import { Button } from "../components/ui/button.tsx";
import { SelectField } from "../components/ui/field.tsx";
import { projectDestinationsQuery } from "../destinations/project-destinations.ts";
import { membersQuery } from "../members/members.ts";
import { useCan } from "../projects/can.ts";
import { rulesQuery } from "../rules/rules.ts";
import { TimeRangePicker } from "../time-range/time-range-picker.tsx";
import { type DeliveryFilter, deliveryTimeOf, memberKinds, withTime } from "./deliveries.ts";
import { deliveryStates } from "./delivery-state.tsx";

type Option = { value: string; label: string };
type Props = { project: string; filter: DeliveryFilter; change: (filter: DeliveryFilter) => void };

export function DeliveryFilters({ project, filter, change }: Props) {
  const can = useCan();
  const { data: destinations = [] } = useQuery(projectDestinationsQuery(project));
  const { data: rules = [] } = useQuery(rulesQuery(project));
  const { data: channels = [] } = useQuery(channelsQuery(project));
  const { data: members = [] } = useQuery(membersQuery(project));
  const select = (name: keyof DeliveryFilter, label: string, all: string, options: Option[]) => (
    <SelectField
      label={label}
      className="min-w-0"
      value={filter[name] ?? ""}
      onChange={({ target }) => {
        const { [name]: _, ...others } = filter;
        change(target.value === "" ? others : { ...others, [name]: target.value });
      }}
    >
      <option value="">{all}</option>
      {withCurrent(options, filter[name]).map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </SelectField>
  );
  return (
    <div className="grid grid-cols-2 items-end gap-3 min-[420px]:grid-cols-3 max-md:gap-2 xl:grid-cols-6">
      {select(
        "state",
        "State",
        "All",
        optionsOf(deliveryStates, ({ name, hint }) => `${name}: ${hint}`),
      )}
      {select("to", "Destination", "All", [
        ...destinations.map(({ id, name }) => ({ value: id, label: name })),
        ...optionsOf(memberKinds, (label) => label),
      ])}
      {select(
        "rule",
        "Rule",
        "All",
        rules.map(({ id, name }) => ({ value: id, label: name })),
      )}
      {/* Others see only their own, so there is nothing to choose from. */}
      {can("rules:manage") &&
        select(
          "account",
          "Person",
          "All",
          members.map(({ id, name, email }) => ({ value: id, label: name || email })),
        )}
      {select(
        "channel",
        "Channel",
        "All",
        channels.map(({ id, name }) => ({ value: id, label: name })),
      )}
      <div className="flex min-w-0 flex-col gap-1.5">
        <span className="font-medium text-sm">Time</span>
        <div className="flex h-9 items-center max-md:h-11">
          <TimeRangePicker
            isOutlined
            time={deliveryTimeOf(filter)}
            change={(time) => change(withTime(filter, time))}
          />
        </div>
      </div>
      {Object.keys(filter).length > 0 && (
        <Button variant="ghost" className="justify-self-start" onClick={() => change({})}>
          Clear filters
        </Button>
      )}
    </div>
  );
}

function optionsOf<Value>(values: Record<string, Value>, label: (value: Value) => string): Option[] {
  return Object.entries(values).map(([value, each]) => ({ value, label: label(each) }));
}

/** Also lists values of the URL that no longer exist, such as a deleted rule. */
function withCurrent(options: Option[], value: string | undefined): Option[] {
  if (value === undefined || options.some((option) => option.value === value)) return options;
  return [...options, { value, label: value }];
}
