import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { limits } from "../../server/core/limits.ts";
import type { Tile, TileType } from "../../server/schemas/tile.ts";
import { titleOf } from "../../server/schemas/tile-texts.ts";
import { Choice, Choices, Field, SelectField, TextField } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { memberError } from "../components/ui/form-errors.tsx";
import { mistakeIn } from "../feed/filters.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { SearchField } from "../rules/search-field.tsx";
import { draftTiles, TileSourceContext, tileDataQuery } from "./boards.ts";
import { PathFields } from "./path-fields.tsx";
import { type BoardRange, rangeQuery } from "./ranges.ts";
import { CountedField, MetricField, SplitFields, useGroupTypes } from "./split-fields.tsx";
import { TileBox } from "./tile.tsx";
import { FirstField, InsightField, StepFields, TagField } from "./tile-fields.tsx";
import {
  formOf,
  isTableOfSessions,
  missingIn,
  needsTag,
  newTileForm,
  type TileForm,
  tileOf,
  tileTypes,
} from "./tile-form.ts";

type Props = {
  /** Null: a new tile. */
  tile: Tile | null;
  range: BoardRange;
  save: (tile: Tile) => void;
  close: () => void;
};

const sessionLabels: Record<TileForm["figure"], string> = {
  sessions: "Number of sessions",
  bounceRate: "Bounce rate: share with a single event",
  duration: "Average duration",
  eventsPerSession: "Events per session",
  entries: "First value of a tag",
  exits: "Last value of a tag",
  live: "Users in the last 5 minutes",
};
const firstHints = {
  ever: "Each week has the same users, whatever period the board shows.",
  range: "Those who began earlier count as new in the first week in which they come back.",
};
const newHints = {
  ever: "A user is new once, whatever period the board shows.",
  range: "Those who began earlier are new when they first come back in the period.",
};
/** How long to wait for the next key before the preview follows. */
const previewDelayMs = 300;

/** The editor of a tile, with a live preview. */
export default function TileEditor({ tile, range, save, close }: Props) {
  const project = useProjectSlug();
  const source = useMemo(() => draftTiles(project), [project]);
  const [form, setForm] = useState(tile ? formOf(tile) : newTileForm);
  const place = tile ?? { id: "preview", x: 0, y: 0, w: 6, h: 4 };
  const edited = tileOf(form, place);
  const shown = useDelayed(edited);
  const missing = missingIn(form);
  // The fields show the mistakes.
  const isValid = missing === null && searchesOf(shown).every((q) => mistakeIn(q) === null);
  const { placeholderData: _, ...query } = tileDataQuery(source, shown, range);
  const preview = useQuery({ ...query, enabled: isValid });
  const check = useMutation({
    mutationFn: () => source.load(edited, rangeQuery(range), { signal: AbortSignal.timeout(60_000) }),
    onSuccess: () => save(edited),
  });
  // The fields show the preview's errors.
  const fieldsError = memberError(preview.error, "tile") ? preview.error : null;
  const change = (next: Partial<TileForm>) => setForm({ ...form, ...next });
  const { type } = form;
  const groupTypes = useGroupTypes(project, form);
  const isChart = type === "line" || type === "area" || type === "bar";
  const hasMetric = isChart || type === "number" || type === "table";
  const ofSessions = isTableOfSessions(form);
  const isTable = type === "table" || ofSessions;
  const countsActors = ["funnel", "retention", "stickiness", "lifecycle"].includes(type);

  return (
    <FormDialog
      wide
      title={tile ? "Edit tile" : "New tile"}
      error={check.error ?? fieldsError}
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
        {isValid && !fieldsError ? (
          <TileSourceContext value={source}>
            <TileBox
              tile={shown}
              range={range}
              actions={<span className="text-faint text-xs">Preview</span>}
            />
          </TileSourceContext>
        ) : (
          <p className="tile items-center justify-center text-muted text-sm">
            {missing ??
              `The preview appears when the ${fieldsError ? "fields are right" : "search is valid"}.`}
          </p>
        )}
      </div>
      <Field
        label="Title"
        value={form.title}
        onChange={(event) => change({ title: event.target.value })}
        maxLength={limits.tileTitleCharacters}
        placeholder={titleOf({ ...edited, title: "" })}
        autoComplete="off"
        member="tile/title"
      />
      {(hasMetric || type === "feed" || type === "stickiness" || type === "lifecycle") && (
        <SearchField q={form.q} onChange={(q) => change({ q })} member="tile/q" />
      )}
      {type === "funnel" && <StepFields form={form} change={change} />}
      {type === "paths" && <PathFields form={form} change={change} />}
      {type === "retention" && (
        <>
          <SearchField
            label="Users begin with"
            hint="A search, as in the feed. Empty: with any event."
            q={form.q}
            onChange={(q) => change({ q })}
            member="tile/q"
          />
          <SearchField
            label="They return with"
            hint="Empty matches any event."
            q={form.again}
            onChange={(again) => change({ again })}
            member="tile/again"
          />
          <FirstField
            label="A user belongs to the week of"
            hint={firstHints[form.first]}
            {...{ form, change }}
          />
        </>
      )}
      {type === "sessions" && (
        <>
          <SearchField
            label="Events that count"
            hint="A search, as in the feed. Sessions begin with these."
            q={form.q}
            onChange={(q) => change({ q })}
            member="tile/q"
          />
          <SearchField
            label="Events that keep a session going"
            hint="A session ends after half an hour without any. Empty: all events."
            q={form.activity}
            onChange={(activity) => change({ activity })}
            member="tile/activity"
          />
          <SelectField
            label="Show"
            value={form.figure}
            onChange={(event) => change({ figure: event.target.value as TileForm["figure"] })}
            member="tile/show"
          >
            {Object.entries(sessionLabels).map(([each, label]) => (
              <option key={each} value={each}>
                {label}
              </option>
            ))}
          </SelectField>
        </>
      )}
      {type === "lifecycle" && (
        <FirstField label="A user is new with" hint={newHints[form.first]} {...{ form, change }} />
      )}
      {countsActors && <CountedField types={groupTypes} {...{ form, change }} />}
      {hasMetric && (
        <div className="flex gap-4 max-md:flex-col">
          <MetricField types={groupTypes} {...{ form, change }} />
          {needsTag(form.metric) && (
            <TagField label="Tag" value={form.tag} onChange={(tag) => change({ tag })} member="tile/tag" />
          )}
        </div>
      )}
      {(isChart || isTable || type === "funnel") && (
        <div className="flex gap-4 max-md:flex-col">
          <SplitFields types={ofSessions ? [] : groupTypes} isTable={isTable} {...{ form, change }} />
          {type !== "funnel" && (
            <Field
              label={isTable ? "Rows" : "Series"}
              type="number"
              min={1}
              max={isTable ? limits.tableRows : limits.tileSeries}
              value={form.limit}
              placeholder={isTable ? "10" : "5"}
              onChange={(event) => change({ limit: event.target.value })}
              member="tile/limit"
              className="md:w-24"
            />
          )}
        </div>
      )}
      {type === "value" && (
        <InsightField
          project={project}
          value={form.key}
          onChange={(key) => change({ key })}
          member="tile/key"
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
          member="tile/text"
        />
      )}
    </FormDialog>
  );
}

function searchesOf(tile: Tile): string[] {
  if ("steps" in tile) return tile.steps;
  return [
    ...("anchor" in tile ? [tile.anchor] : []),
    ...("q" in tile ? [tile.q ?? ""] : []),
    ...("again" in tile ? [tile.again ?? ""] : []),
    ...("activity" in tile ? [tile.activity ?? ""] : []),
  ];
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
