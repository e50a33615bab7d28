import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { eventTexts } from "../event/event.ts";
import { projectParameter, timestamp, validSearch } from "../event/event-query.ts";
import { nextCursor, pageCursor, pageLimit } from "../validation/page-query.ts";
import { text } from "../validation/text.ts";
import { palettes } from "./chart-palette.ts";
import { timeZoneParameter } from "./stats.ts";
import { version } from "./version.ts";

const annotationTypes = ["events", "note"] as const;
type AnnotationType = (typeof annotationTypes)[number];

/** A day as a date, or a moment. */
const noteTime = z
  .string()
  .refine(
    (value) => isDate(value) || timestamp.safeParse(value).success,
    "must be a date, such as 2026-11-27, or an ISO 8601 time with an offset, such as 2026-11-27T08:00:00Z",
  )
  .openapi({
    description:
      "Its moment, in ISO 8601 with an offset, or its day, as a date. The day is that of the chart's time zone.",
    example: "2026-11-27",
  });

/** Whether a text is a date of the calendar, such as 2026-11-27. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

const name = text({ max: limits.annotationNameCharacters, filled: true }).openapi({
  description: "What charts call it.",
});
const icon = text({ ...eventTexts.icon, filled: true })
  .nullable()
  .openapi({ description: "An emoji, for example, or null." });
const color = z
  .int("must be a whole number")
  .min(1, "must be at least 1")
  .max(palettes.light.series.length, `must be at most ${palettes.light.series.length}`)
  .openapi({ description: "A place in the palette of charts." });
const q = validSearch
  .refine((value) => value.trim() !== "", "must not be empty: a chart would be full of marks")
  .openapi({ description: "The search of the events that it marks (docs/search.md)." });
const enabled = z.boolean().openapi({ description: "Whether charts show it." });
const board = z
  .string()
  .nullable()
  .openapi({ description: "ID of the board that shows the note. Null: all charts of the project." });

const NewEventAnnotation = z
  .strictObject({
    type: z.literal("events"),
    name,
    icon: icon.default(null),
    color: color.default(1),
    q,
    enabled: enabled.default(true),
  })
  .openapi("NewEventAnnotation", { description: "Marks the events of a search." });
const NewNote = z
  .strictObject({
    type: z.literal("note"),
    name,
    icon: icon.default(null),
    color: color.default(1),
    at: noteTime,
    board: board.default(null),
  })
  .openapi("NewNote", { description: "Marks a moment or a day." });

export const NewAnnotation = z
  .discriminatedUnion("type", [NewEventAnnotation, NewNote])
  .openapi("NewAnnotation", {
    example: { type: "events", name: "Deployment", icon: "🚀", q: "channel:deploys" },
  });
export type NewAnnotation = z.infer<typeof NewAnnotation>;

/** Fields that are left out stay as they are. */
export const AnnotationChange = z
  .strictObject({ name, icon, color, q, enabled, at: noteTime, board })
  .partial()
  .refine((change) => Object.keys(change).length > 0, "changes nothing. Send at least one field")
  .openapi("AnnotationChange", {
    description: "`q` and `enabled` are of events, `at` and `board` of notes.",
  });
export type AnnotationChange = z.infer<typeof AnnotationChange>;

const time = z.string().openapi({ format: "date-time" });
const kept = {
  id: z.string(),
  name: z.string(),
  icon: z.string().nullable(),
  color: z.int().openapi({ description: "A place in the palette of charts, from 1 on." }),
};
const edited = {
  createdBy: z.string().nullable().openapi({
    description: "Who created it: an account or an API key. Null is a command.",
  }),
  version,
  createdAt: time,
};

const EventAnnotation = z
  .object({ type: z.literal("events"), ...kept, q: z.string(), enabled: z.boolean(), ...edited })
  .openapi("EventAnnotation");
const Note = z
  .object({
    type: z.literal("note"),
    ...kept,
    at: z.string().openapi({ description: "Its moment in UTC, or its day as a date." }),
    board: z.string().nullable(),
    ...edited,
  })
  .openapi("Note");

/** Something that charts over time mark: the events of a search, or a note. */
export const Annotation = z.discriminatedUnion("type", [EventAnnotation, Note]).openapi("Annotation");
export type Annotation = z.infer<typeof Annotation>;
export type AnnotationOf<Type extends AnnotationType> = Extract<Annotation, { type: Type }>;

export const AnnotationListQuery = z.strictObject({
  type: z.enum(annotationTypes).optional().openapi({ description: "Default: all." }),
  limit: pageLimit("Annotations"),
  cursor: pageCursor.refine((value) => value === undefined || z.uuid().safeParse(value).success, {
    message: 'must be the "nextCursor" of an earlier page',
  }),
  project: projectParameter,
});
export type AnnotationListQuery = z.infer<typeof AnnotationListQuery>;

export const AnnotationList = z
  .object({ ok: z.literal(true), annotations: z.array(Annotation), nextCursor })
  .openapi("AnnotationList");
export const AnnotationResponse = z
  .object({ ok: z.literal(true), annotation: Annotation })
  .openapi("AnnotationResponse");

export const MarksQuery = z.strictObject({
  from: timestamp.optional().openapi({ description: "Start of the range, inclusive. Default: 30 days ago." }),
  to: timestamp.optional().openapi({ description: "End of the range, exclusive. Default: now." }),
  timeZone: timeZoneParameter.openapi({ description: "IANA time zone of the days of notes. Default: UTC." }),
  board: z
    .string()
    .optional()
    .openapi({ description: "ID of a board whose notes are included. Default: only the project's notes." }),
  project: projectParameter,
});

/** A mark on a chart. */
export const Mark = z
  .object({
    annotation: z.string().openapi({ description: "ID of its annotation." }),
    type: z.enum(annotationTypes),
    name: z.string(),
    icon: z.string().nullable(),
    color: z.int(),
    at: time,
    until: time.nullable().openapi({ description: "Of a note of a day: the day's end. Null for a moment." }),
    event: z
      .object({ id: z.string(), name: z.string(), icon: z.string().optional() })
      .nullable()
      .openapi({ description: "The event that it marks. Null for a note." }),
  })
  .openapi("Mark");
export type Mark = z.infer<typeof Mark>;

export const MarkList = z
  .object({
    ok: z.literal(true),
    from: time,
    to: time,
    marks: z.array(Mark).openapi({
      description: `The newest ${limits.annotationMarks} of all annotations together, oldest first.`,
    }),
    omitted: z
      .array(
        z.object({
          annotation: z.string().nullable().openapi({ description: "Its ID. Null: all notes together." }),
          name: z.string(),
          count: z.int(),
        }),
      )
      .openapi({
        description: "How many more the range has: of each annotation of events, and of all notes together.",
      }),
  })
  .openapi("MarkList");
export type MarkList = z.infer<typeof MarkList>;
