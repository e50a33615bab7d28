import { limits } from "../../server/core/limits.ts";
import { stepNameOf } from "../../server/schemas/step-name.ts";
import { Field, SelectField } from "../components/ui/field.tsx";
import { SearchField } from "../rules/search-field.tsx";
import type { TileForm } from "./tile-form.ts";

type Props = { form: TileForm; change: (next: Partial<TileForm>) => void };

/** The event of a tile of paths, and which steps are followed. */
export function PathFields({ form, change }: Props) {
  const { anchor, anchorName, direction, length, names, repeats, pathHours, q } = form;
  return (
    <>
      <div className="flex items-start gap-2 max-md:flex-col max-md:items-stretch">
        <div className="relative min-w-0 flex-1">
          <SearchField
            label="The event"
            hint="A search. A user's first event in the period that matches; empty: any."
            placeholder='name:"Account created"'
            q={anchor}
            onChange={(next) => change({ anchor: next })}
            member="tile/anchor"
          />
        </div>
        <Field
          label="Name"
          aria-label="Name of the event"
          className="md:w-44"
          value={anchorName}
          onChange={(event) => change({ anchorName: event.target.value })}
          maxLength={limits.stepNameCharacters}
          placeholder={stepNameOf(anchor, undefined) ?? "The event"}
          hint="Also shown on public boards."
          autoComplete="off"
          member="tile/anchorName"
        />
      </div>
      <div className="grid gap-x-2 gap-y-4 sm:grid-cols-2">
        <SelectField
          label="Follow users"
          value={direction}
          onChange={(event) => change({ direction: event.target.value as TileForm["direction"] })}
          member="tile/direction"
        >
          <option value="after">after the event</option>
          <option value="before">before the event</option>
        </SelectField>
        <SelectField
          label="Events in a row with the same name"
          value={repeats}
          onChange={(event) => change({ repeats: event.target.value as TileForm["repeats"] })}
          member="tile/repeats"
        >
          <option value="merge">are one step</option>
          <option value="keep">are several steps</option>
        </SelectField>
      </div>
      <div className="grid grid-cols-3 gap-2">
        <Field
          label="Steps"
          type="number"
          min={1}
          max={limits.pathSteps}
          value={length}
          onChange={(event) => change({ length: event.target.value })}
          required
          member="tile/length"
        />
        <Field
          label="Names a step"
          type="number"
          min={1}
          max={limits.pathNames}
          value={names}
          onChange={(event) => change({ names: event.target.value })}
          required
          member="tile/names"
        />
        <Field
          label="Within (hours)"
          type="number"
          min={0.01}
          step="any"
          value={pathHours}
          onChange={(event) => change({ pathHours: event.target.value })}
          required
          member="tile/windowSeconds"
        />
      </div>
      <SearchField
        label="Events that count as steps"
        hint="A search. Empty: all events."
        placeholder="-channel:logs"
        q={q}
        onChange={(next) => change({ q: next })}
        member="tile/q"
      />
    </>
  );
}
