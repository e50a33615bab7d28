import { useQuery } from "@tanstack/react-query";
import { limits } from "../../server/core/limits.ts";
import { palettes } from "../../server/schemas/chart-palette.ts";
import { boardsQuery } from "../boards/boards.ts";
import { Swatch } from "../charts/readout.tsx";
import { Choice, Choices, Field, SelectField } from "../components/ui/field.tsx";
import { zone } from "../components/zone.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { SearchField } from "../rules/search-field.tsx";
import { useDark } from "../theme/theme.ts";
import "./annotations.css";
import type { AnnotationForm } from "./annotation-form.ts";

type Props = {
  form: AnnotationForm;
  onChange: (form: AnnotationForm) => void;
  /** One that exists keeps its type. */
  isNew: boolean;
};

/** The fields of an annotation: the events or time that it marks, and how charts show it. */
export function AnnotationFields({ form, onChange, isNew }: Props) {
  const change = (changed: Partial<AnnotationForm>) => onChange({ ...form, ...changed });
  const isNote = form.type === "note";
  return (
    <>
      {isNew && (
        <Choices label="What charts mark" className="sm:grid-cols-2" member="type">
          <Choice
            type="radio"
            name="type"
            label="Events of a search"
            hint="Such as deployments, also future ones"
            checked={!isNote}
            onChange={() => change({ type: "events" })}
          />
          <Choice
            type="radio"
            name="type"
            label="A note"
            hint="On a day or a moment"
            checked={isNote}
            onChange={() => change({ type: "note" })}
          />
        </Choices>
      )}
      <div className="annotation-name">
        <Field
          label={isNote ? "Note" : "Name"}
          value={form.name}
          onChange={(event) => change({ name: event.target.value })}
          required
          maxLength={limits.annotationNameCharacters}
          placeholder={isNote ? "Prices changed" : "Deployment"}
          autoComplete="off"
          member="name"
        />
        <Field
          label="Icon"
          value={form.icon}
          onChange={(event) => change({ icon: event.target.value })}
          maxLength={limits.iconCharacters}
          placeholder="🚀"
          autoComplete="off"
          member="icon"
        />
      </div>
      {isNote ? (
        <NoteFields form={form} change={change} />
      ) : (
        <SearchField
          q={form.q}
          onChange={(q) => change({ q })}
          member="q"
          label="Events that it marks"
          hint={`A search, as in the feed. A chart shows the newest ${limits.annotationMarks} marks.`}
          placeholder="channel:deploys"
        />
      )}
      <Colors color={form.color} onChange={(color) => change({ color })} />
      {!isNote && (
        <Choice
          type="checkbox"
          name="enabled"
          label="Show it on charts"
          checked={form.enabled}
          onChange={(enabled) => change({ enabled })}
        />
      )}
    </>
  );
}

function NoteFields({
  form,
  change,
}: {
  form: AnnotationForm;
  change: (changed: Partial<AnnotationForm>) => void;
}) {
  const { data: boards = [] } = useQuery(boardsQuery(useProjectSlug()));
  return (
    <>
      <div className="grid gap-x-2 gap-y-4 sm:grid-cols-2">
        <SelectField
          label="When"
          value={form.isDay ? "day" : "moment"}
          onChange={(event) => change({ isDay: event.target.value === "day" })}
        >
          <option value="day">A whole day</option>
          <option value="moment">A moment</option>
        </SelectField>
        {form.isDay ? (
          <Field
            label="Day"
            type="date"
            value={form.day}
            onChange={(event) => change({ day: event.target.value })}
            required
            member="at"
          />
        ) : (
          <Field
            label="Time"
            type="datetime-local"
            value={form.moment}
            onChange={(event) => change({ moment: event.target.value })}
            required
            hint={zone()}
            member="at"
          />
        )}
      </div>
      <SelectField
        label="Charts"
        value={form.board}
        onChange={(event) => change({ board: event.target.value })}
        member="board"
      >
        <option value="">All charts of the project</option>
        {boards.map(({ id, name }) => (
          <option key={id} value={id}>
            Of the board {name}
          </option>
        ))}
      </SelectField>
    </>
  );
}

function Colors({ color, onChange }: { color: number; onChange: (color: number) => void }) {
  const isDark = useDark();
  return (
    <fieldset>
      <legend className="mb-1.5 font-medium text-sm">Color</legend>
      <div className="annotation-colors">
        {palettes.light.series.map((_, index) => {
          const place = index + 1;
          return (
            <label key={place}>
              <input
                type="radio"
                name="color"
                aria-label={`Color ${place}`}
                checked={color === place}
                onChange={() => onChange(place)}
              />
              <Swatch color={index} isDark={isDark} />
            </label>
          );
        })}
      </div>
    </fieldset>
  );
}
