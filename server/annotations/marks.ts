import { isoOf } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";
import { filterOf } from "../event/event-query.ts";
import {
  type Annotation,
  type AnnotationOf,
  isDate,
  type Mark,
  type MarkList,
} from "../schemas/annotation.ts";
import type { MsRange } from "../storage/block.ts";
import type { Store } from "../storage/store.ts";
import { enabledSearches, notesNear } from "./annotations.ts";

type Stores = Pick<Store, "control"> & { events: Pick<Store["events"], "page" | "count"> };
type Asked = MsRange & {
  projectId: number;
  timeZone: string;
  board?: string | undefined;
  signal: AbortSignal;
};
/** The newest marks of an annotation, newest first, and how many it has in the range. */
type Found = { annotation: Annotation; marks: Mark[]; total: number };

/** The marks of a chart: the newest ones of all annotations together, and how many more there are. */
export async function listMarks(
  { control, events }: Stores,
  asked: Asked,
): Promise<Pick<MarkList, "marks" | "omitted">> {
  const { projectId, fromMs, toMs, board } = asked;
  const found: Found[] = [];
  const notes = await notesNear(control, projectId, { fromMs, toMs, board });
  for (const note of notes) {
    const mark = markOfNote(note, asked.timeZone);
    const endMs = mark.until === null ? Date.parse(mark.at) + 1 : Date.parse(mark.until);
    if (Date.parse(mark.at) < toMs && endMs > fromMs)
      found.push({ annotation: note, marks: [mark], total: 1 });
  }
  // One after the other: a project has several places for reads, and other requests need them too.
  for (const annotation of await enabledSearches(control, projectId))
    found.push(await eventsOf(events, annotation, asked));
  const newest = found
    .flatMap(({ marks }) => marks)
    .toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
    .slice(0, limits.annotationMarks);
  return { marks: newest.toReversed(), omitted: omittedOf(found, newest) };
}

/** How many marks are left out. A project has thousands of notes, so theirs are counted together. */
function omittedOf(found: readonly Found[], drawn: readonly Mark[]): MarkList["omitted"] {
  const drawnOf = Map.groupBy(drawn, ({ annotation }) => annotation);
  const left = found.map(({ annotation, total }) => {
    return { annotation, count: total - (drawnOf.get(annotation.id)?.length ?? 0) };
  });
  const notes = left.reduce(
    (sum, { annotation, count }) => sum + (annotation.type === "note" ? count : 0),
    0,
  );
  return [
    ...(notes > 0 ? [{ annotation: null, name: "Notes", count: notes }] : []),
    ...left
      .filter(({ annotation, count }) => annotation.type === "events" && count > 0)
      .map(({ annotation: { id, name }, count }) => ({ annotation: id, name, count })),
  ];
}

async function eventsOf(
  events: Stores["events"],
  annotation: AnnotationOf<"events">,
  { projectId, fromMs, toMs, signal }: Asked,
): Promise<Found> {
  const filter = filterOf({ q: annotation.q }, []);
  const page = await events.page(
    { projectId, filter: { ...filter, fromMs, toMs }, order: "desc" },
    limits.annotationMarks,
    signal,
  );
  const marks = page.events.map((json): Mark => {
    const { id, name, icon, createdAt } = JSON.parse(json) as Event;
    return {
      ...markOf(annotation),
      at: createdAt,
      until: null,
      event: { id, name, ...(icon !== undefined && { icon }) },
    };
  });
  if (page.next === null) return { annotation, marks, total: marks.length };
  const counts = await events.count({ projectId, filter, bounds: [fromMs, toMs], series: 1 });
  return { annotation, marks, total: counts?.all[0] ?? marks.length };
}

function markOfNote(note: AnnotationOf<"note">, timeZone: string): Mark {
  if (!isDate(note.at)) return { ...markOf(note), at: note.at, until: null, event: null };
  const day = Temporal.PlainDate.from(note.at);
  const startOf = (date: Temporal.PlainDate) => isoOf(date.toZonedDateTime(timeZone).epochMilliseconds);
  return { ...markOf(note), at: startOf(day), until: startOf(day.add({ days: 1 })), event: null };
}

function markOf({ id, type, name, icon, color }: Annotation) {
  return { annotation: id, type, name, icon, color };
}
