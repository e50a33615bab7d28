import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { limits } from "../../server/limits.ts";
import type { Metric, Tile, TileType } from "../../server/wire/tile.ts";
import { Button } from "../components/ui/button.tsx";
import {
  Choice,
  Choices,
  Field,
  fieldError,
  formError,
  SelectField,
  TextField,
} from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { SearchField } from "../rules/search-field.tsx";
import { titleOf } from "./amounts.ts";
import { draftTiles, insightsQuery, TileSourceContext, tileDataQuery } from "./boards.ts";
import { type BoardRange, rangeQuery } from "./ranges.ts";
import { TileBox } from "./tile.tsx";
import { formOf, needsTag, newTileForm, type TileForm, tileOf, tileTypes } from "./tile-form.ts";

type Props = {
  /** Null: a new tile. */
  tile: Tile | null;
  range: BoardRange;
  save: (tile: Tile) => void;
  close: () => void;
};

const metricLabels: Record<Metric, string> = {
  events: "Number of events",
  users: "Number of users",
  sum: "Sum of a tag",
  average: "Average of a tag",
  minimum: "Minimum of a tag",
  maximum: "Maximum of a tag",
};
const fields = ["title", "q", "metric", "tag", "split", "limit", "again", "windowSeconds", "key", "text"].map(
  (name) => `tile/${name}`,
);
/** How long to wait for the next key before the preview follows. */
const previewDelayMs = 300;

/** Asks for what a tile shows, with a preview that follows. */
export default function TileEditor({ tile, range, save, close }: Props) {
  const project = useProjectSlug();
  const source = useMemo(() => draftTiles(project), [project]);
  const [form, setForm] = useState(tile ? formOf(tile) : newTileForm);
  const place = tile ?? { id: "preview", x: 0, y: 0, w: 6, h: 4 };
  const edited = tileOf(form, place);
  const shown = useDelayed(edited);
  const preview = useQuery({ ...tileDataQuery(source, shown, range), placeholderData: undefined });
  const check = useMutation({
    mutationFn: () => source.load(edited, rangeQuery(range), { signal: AbortSignal.timeout(60_000) }),
    onSuccess: () => save(edited),
  });
  const error = check.error ?? preview.error;
  const errorOf = (name: string) => fieldError(error, `tile/${name}`);
  const change = (next: Partial<TileForm>) => setForm({ ...form, ...next });
  const { type } = form;
  const isChart = type === "line" || type === "area" || type === "bar";
  const hasMetric = isChart || type === "number" || type === "table";

  return (
    <FormDialog
      wide
      title={tile ? "Edit tile" : "New tile"}
      error={formError(check.error, fields)}
      action={tile ? "Apply" : "Add tile"}
      busy={check.isPending}
      submit={() => check.mutate()}
      close={close}
    >
      <Choices label="Type" className="grid-cols-2 md:grid-cols-4">
        {Object.entries(tileTypes).map(([each, { label }]) => (
          <Choice
            key={each}
            type="radio"
            name="type"
            label={label}
            checked={type === each}
            // Otherwise the dialog would focus the first of them, whichever is chosen.
            autoFocus={type === each}
            onChange={() => change({ type: each as TileType })}
          />
        ))}
      </Choices>
      <div className="sticky -top-3 z-10 h-44 bg-raised">
        <TileSourceContext value={source}>
          <TileBox tile={shown} range={range} actions={<span className="text-faint text-xs">Preview</span>} />
        </TileSourceContext>
      </div>
      <Field
        label="Title"
        value={form.title}
        onChange={(event) => change({ title: event.target.value })}
        maxLength={limits.tileTitleCharacters}
        placeholder={titleOf({ ...edited, title: "" })}
        autoComplete="off"
        error={errorOf("title")}
      />
      {(hasMetric || type === "feed") && (
        <SearchField q={form.q} onChange={(q) => change({ q })} error={errorOf("q")} />
      )}
      {type === "funnel" && <StepFields form={form} change={change} errorOf={errorOf} />}
      {type === "retention" && (
        <>
          <SearchField
            label="Users begin with"
            hint="A search, as in the feed. A user begins in the week of the first event that matches."
            q={form.q}
            onChange={(q) => change({ q })}
            error={errorOf("q")}
          />
          <SearchField
            label="They return with"
            hint="Empty: with any event."
            q={form.again}
            onChange={(again) => change({ again })}
            error={errorOf("again")}
          />
        </>
      )}
      {hasMetric && (
        <div className="flex gap-4 max-md:flex-col">
          <SelectField
            label="Show"
            className="flex-1"
            value={form.metric}
            onChange={(event) => change({ metric: event.target.value as Metric })}
            error={errorOf("metric")}
          >
            {Object.entries(metricLabels).map(([each, label]) => (
              <option key={each} value={each}>
                {label}
              </option>
            ))}
          </SelectField>
          {needsTag(form.metric) && (
            <TagField
              label="Tag"
              value={form.tag}
              onChange={(tag) => change({ tag })}
              error={errorOf("tag")}
            />
          )}
        </div>
      )}
      {(isChart || type === "table" || type === "funnel") && (
        <div className="flex gap-4 max-md:flex-col">
          <SelectField
            label={type === "table" ? "A row for each" : "Split by"}
            className="flex-1"
            value={type === "table" ? form.splitBy || "name" : form.splitBy}
            onChange={(event) => change({ splitBy: event.target.value as TileForm["splitBy"] })}
            error={errorOf("split")}
          >
            {type !== "table" && <option value="">Nothing</option>}
            <option value="channel">Channel</option>
            <option value="name">Name</option>
            <option value="tag">Tag</option>
          </SelectField>
          {form.splitBy === "tag" && (
            <TagField
              label="Tag to split by"
              value={form.splitTag}
              onChange={(splitTag) => change({ splitTag })}
              error={undefined}
            />
          )}
          {type !== "funnel" && (
            <Field
              label={type === "table" ? "Rows" : "Series"}
              type="number"
              min={1}
              max={type === "table" ? limits.tableRows : limits.tileSeries}
              value={form.limit}
              placeholder={type === "table" ? "10" : "5"}
              onChange={(event) => change({ limit: event.target.value })}
              error={errorOf("limit")}
              className="md:w-24"
            />
          )}
        </div>
      )}
      {type === "value" && (
        <ValueField
          project={project}
          value={form.key}
          onChange={(key) => change({ key })}
          error={errorOf("key")}
        />
      )}
      {type === "text" && (
        <TextField
          label="Text"
          hint="Markdown"
          rows={4}
          value={form.text}
          onChange={(event) => change({ text: event.target.value })}
          maxLength={limits.tileTextCharacters}
          error={errorOf("text")}
        />
      )}
    </FormDialog>
  );
}

type StepProps = {
  form: TileForm;
  change: (next: Partial<TileForm>) => void;
  errorOf: (name: string) => string | undefined;
};

/** The steps of a funnel, and how long users may take. */
function StepFields({ form: { steps, windowHours }, change, errorOf }: StepProps) {
  return (
    <>
      {steps.map((q, index) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: steps have no other identity, and only the last is removed
          key={index}
          className="relative"
        >
          <SearchField
            label={`Step ${index + 1}`}
            hint={index === 0 ? "A search, as in the feed." : ""}
            q={q}
            onChange={(next) => change({ steps: steps.with(index, next) })}
            error={errorOf(`steps/${index}`)}
          />
        </div>
      ))}
      <div className="flex items-end gap-2">
        <Field
          label="Within hours"
          type="number"
          min={0.01}
          step="any"
          value={windowHours}
          onChange={(event) => change({ windowHours: event.target.value })}
          error={errorOf("windowSeconds")}
          className="flex-1"
          required
        />
        <Button
          className="h-9"
          disabled={steps.length >= limits.funnelSteps}
          onClick={() => change({ steps: [...steps, ""] })}
        >
          Add step
        </Button>
        <Button
          className="h-9"
          variant="ghost"
          disabled={steps.length <= 2}
          onClick={() => change({ steps: steps.slice(0, -1) })}
        >
          Remove the last
        </Button>
      </div>
    </>
  );
}

type TextProps = { value: string; onChange: (value: string) => void; error: string | undefined };

function TagField({ label, value, onChange, error }: TextProps & { label: string }) {
  return (
    <Field
      label={label}
      className="flex-1"
      value={value}
      onChange={(event) => onChange(event.target.value)}
      required
      maxLength={limits.tagKeyCharacters}
      placeholder="amount"
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
      error={error}
    />
  );
}

/** The key of a value, with those that exist as suggestions, and how an application sets it. */
function ValueField({ project, value, onChange, error }: TextProps & { project: string }) {
  const { data: insights = [] } = useQuery(insightsQuery(project));
  return (
    <>
      <Field
        label="Key"
        value={value}
        onChange={(event) => onChange(event.target.value)}
        list="insight-keys"
        required
        maxLength={limits.insightKeyCharacters}
        placeholder="paying-customers"
        hint={
          <>
            Your application sets it: <code className="font-mono">PUT /api/insights/{value || "KEY"}</code>{" "}
            with <code className="font-mono">{'{"value": 42}'}</code>
          </>
        }
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        error={error}
      />
      <datalist id="insight-keys">
        {insights.map(({ key, title }) => (
          <option key={key} value={key}>
            {title}
          </option>
        ))}
      </datalist>
    </>
  );
}

/** A tile some time after its last change, so that not every key is a request. */
function useDelayed(tile: Tile): Tile {
  const text = JSON.stringify(tile);
  const [delayed, setDelayed] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setDelayed(text), previewDelayMs);
    return () => clearTimeout(timer);
  }, [text]);
  return useMemo(() => JSON.parse(delayed) as Tile, [delayed]);
}
