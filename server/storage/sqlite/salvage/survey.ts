import { PackedBodies } from "./packed-bodies.ts";
import type { PageFile } from "./page-file.ts";
import { childOf, pageKinds, type RowId, rowOf, type TreePage, treePage } from "./records.ts";
import { eventOf, msOf, type SalvagedChannel, type SalvagedRow, salvagedRow } from "./rows.ts";

const hourMs = 3_600_000;
/** How far below an inner page an event is looked for: no tree is higher. */
const heightMax = 8;
/** There are fewer hours than this until the year 2109. A project and an hour become one number. */
const hoursOfProject = 2 ** 21;

/** Time in which events are missing. */
export type MissingRange = {
  /** Milliseconds since 1970; null if the range has no bound on that side. `toMs` is exclusive. */
  fromMs: number | null;
  toMs: number | null;
  /** Null if the number isn't known. */
  events: number | null;
};

export type SurveyedProject = {
  id: number;
  /** Null if the project's row can't be read. */
  slug: string | null;
  isDeleted: boolean;
  events: number;
  users: number;
  /** IDs that are joined to another one. */
  joinedIds: number;
  channels: SalvagedChannel[];
  /** Events that should be there and aren't; null if nothing tells how many there were. */
  missing: number | null;
  /** What tells the number is damaged too, so that it can be larger. */
  isAtLeast: boolean;
  ranges: MissingRange[];
};

/** What can be read of a database, and what can't. */
export type Survey = {
  projects: SurveyedProject[];
  /** Rows of the salvaged tables that are damaged, on pages that can be read. */
  damagedRows: number;
  /** Pages in the log that are damaged. */
  damagedFrames: number;
  /** Time for which a page of events can't be read. It can be of any project. */
  lostRanges: MissingRange[];
};

type UnpackedRow = Exclude<SalvagedRow, { kind: "packedEvent" }>;

/**
 * All rows of the salvaged tables, in the order of pages. Rows of damaged pages are null, and events whose compressed
 * bodies are damaged.
 */
export function* rowsIn(file: PageFile): Generator<UnpackedRow | null> {
  const bodies = new PackedBodies(file);
  for (let number = 1; number <= file.pages; number++) {
    const page = treePage(file.page(number)!, number);
    if (page && page.kind !== pageKinds.tableInner)
      for (const row of rowsOn(file, page)) yield row && unpacked(row, bodies);
  }
}

function unpacked(row: SalvagedRow, bodies: PackedBodies): UnpackedRow | null {
  if (row.kind !== "packedEvent") return row;
  const body = bodies.of(row.reference);
  return body === null ? null : eventOf(row.projectId, row.id, body, row.ms);
}

/** The rows of a page, if it is one of the salvaged tables: one of its rows can be read. */
function rowsOn(file: PageFile, page: TreePage): (SalvagedRow | null)[] {
  const rows = page.cells.map((cell) => rowAt(file, page, cell));
  return rows.some((row) => row !== null) ? rows : [];
}

function rowAt(file: PageFile, page: TreePage, cell: number): SalvagedRow | null {
  const row = rowOf(file, page, cell);
  return row && salvagedRow(row);
}

/** Reads the whole file once. */
export function survey(file: PageFile): Survey {
  const projects = new Map<number, ProjectCounts>();
  const of = (id: number): ProjectCounts => {
    const known = projects.get(id) ?? new ProjectCounts(id);
    projects.set(id, known);
    return known;
  };
  /** For each project and hour, how many more events were counted than are there. */
  const missing = new Map<number, number>();
  const add = (projectId: number, hour: number, events: number) => {
    const key = projectId * hoursOfProject + hour;
    missing.set(key, (missing.get(key) ?? 0) + events);
  };
  let damagedRows = 0;
  for (const row of rowsIn(file)) {
    if (row === null) damagedRows++;
    else if (row.kind === "uncounted") {
      for (const { projectId, hour, events } of row.counts) {
        of(projectId).uncounted += events;
        add(projectId, hour, events);
      }
    } else {
      const project = of(row.projectId);
      project.add(row);
      if (row.kind === "count") add(row.projectId, row.hour, row.events);
      if (row.kind === "event") add(row.projectId, Math.floor(row.ms / hourMs), -1);
    }
  }
  const rangesOf = missingRanges(missing);
  return {
    projects: [...projects.values()]
      .map((project) => project.surveyed(rangesOf.get(project.id) ?? [], damagedRows > 0))
      .filter(
        ({ isDeleted, events, users, joinedIds, channels }) =>
          !isDeleted && events + users + joinedIds + channels.length > 0,
      )
      .sort((a, b) => a.id - b.id),
    damagedRows,
    damagedFrames: file.damagedFrames,
    lostRanges: lostRanges(file),
  };
}

/** What is known of a project. */
class ProjectCounts {
  readonly id: number;
  uncounted = 0;
  #slug: string | null = null;
  #isDeleted = false;
  #events = 0;
  #users = 0;
  #joinedIds = 0;
  #counted = 0;
  #inChannels = 0;
  readonly #channels: SalvagedChannel[] = [];

  constructor(id: number) {
    this.id = id;
  }

  add(row: Exclude<UnpackedRow, { kind: "uncounted" }>): void {
    if (row.kind === "event") this.#events++;
    else if (row.kind === "user") this.#users++;
    else if (row.kind === "joined") this.#joinedIds += Number(row.userId !== row.personId);
    else if (row.kind === "count") this.#counted += row.events;
    else if (row.kind === "channel") {
      this.#channels.push(row.channel);
      this.#inChannels += row.events;
    } else {
      this.#slug = row.slug;
      this.#isDeleted = row.isDeleted;
    }
  }

  surveyed(ranges: MissingRange[], isDamaged: boolean): SurveyedProject {
    // Both say how many events there were. One of them can be damaged.
    const expected = Math.max(this.#counted, this.#inChannels) + this.uncounted;
    const inRanges = ranges.reduce((sum, { events }) => sum + events!, 0);
    const isKnown = this.#channels.length > 0 || this.#counted > 0;
    return {
      id: this.id,
      slug: this.#slug,
      isDeleted: this.#isDeleted,
      events: this.#events,
      users: this.#users,
      joinedIds: this.#joinedIds,
      channels: this.#channels.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      missing: isKnown ? Math.max(expected - this.#events, inRanges, 0) : null,
      isAtLeast: isDamaged || !isKnown || this.#counted !== this.#inChannels,
      ranges,
    };
  }
}

/** The hours with missing events by project; hours in a row are one range. */
function missingRanges(missing: ReadonlyMap<number, number>): Map<number, MissingRange[]> {
  const ranges = new Map<number, MissingRange[]>();
  for (const [key, events] of [...missing].filter(([, events]) => events > 0).sort(([a], [b]) => a - b)) {
    const projectId = Math.floor(key / hoursOfProject);
    const fromMs = (key % hoursOfProject) * hourMs;
    const ofProject = ranges.get(projectId) ?? [];
    ranges.set(projectId, ofProject);
    const last = ofProject.at(-1);
    if (last?.toMs === fromMs) {
      last.toMs = fromMs + hourMs;
      last.events! += events;
    } else ofProject.push({ fromMs, toMs: fromMs + hourMs, events });
  }
  return ranges;
}

/** The time of the pages of events that can't be read, which the pages above them tell. */
function lostRanges(file: PageFile): MissingRange[] {
  const ranges: MissingRange[] = [];
  const known = new Map<number, boolean>();
  for (let number = 1; number <= file.pages; number++) {
    const page = innerPage(file, number);
    if (!page) continue;
    const children = childrenOf(page);
    if (!children.some(({ child }) => leadsToEvents(file, child, heightMax, known))) continue;
    for (const [index, { child, key }] of children.entries()) {
      if (leadsToEvents(file, child, heightMax, known)) continue;
      const before = children[index - 1]?.key;
      ranges.push({ fromMs: before ? msOf(before) : null, toMs: key && msOf(key) + 1, events: null });
    }
  }
  return ranges.sort((a, b) => (a.fromMs ?? 0) - (b.fromMs ?? 0));
}

function innerPage(file: PageFile, number: number): TreePage | null {
  const bytes = file.page(number);
  const page = bytes && treePage(bytes, number);
  return page?.kind === pageKinds.tableInner ? page : null;
}

function childrenOf(page: TreePage): { child: number; key: RowId | null }[] {
  const children = page.cells.map((cell) => childOf(page, cell)).filter((child) => child !== null);
  return [...children, { child: page.rightChild, key: null }];
}

/**
 * Whether an event can be read on a page, or on one of the pages below it.
 *
 * @param known - of the pages that were looked at: damaged ones can name each other, or themselves, hundreds of times
 */
function leadsToEvents(file: PageFile, number: number, height: number, known: Map<number, boolean>): boolean {
  const before = known.get(number);
  if (before !== undefined || height === 0) return before ?? false;
  known.set(number, false);
  const bytes = file.page(number);
  const page = bytes && treePage(bytes, number);
  if (!page) return false;
  const leads =
    page.kind === pageKinds.tableLeaf
      ? page.cells.some((cell) => isEvent(rowAt(file, page, cell)))
      : page.kind === pageKinds.tableInner &&
        childrenOf(page).some(({ child }) => leadsToEvents(file, child, height - 1, known));
  known.set(number, leads);
  return leads;
}

function isEvent(row: SalvagedRow | null): boolean {
  return row?.kind === "event" || row?.kind === "packedEvent";
}
