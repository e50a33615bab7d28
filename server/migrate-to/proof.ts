import type { Source } from "./source.ts";
import { type ComparedRow, type Difference, differences, tables } from "./tables.ts";
import type { Target } from "./target.ts";

/** Differences listed for each table and project. */
const examplesMax = 5;
/** Source events read before the target's reads get a turn. */
const eventsPerTurn = 500;

/** The number of entries, and a checksum of their content. */
type Sum = { rows: number; checksum: string };

/** What was compared: the events of a project, or a control table. */
export type Compared = {
  what: string;
  projectId: number | null;
  here: Sum;
  there: Sum;
  /** Some of the differences. */
  examples: string[];
};

export function agrees({ here, there }: Pick<Compared, "here" | "there">): boolean {
  return here.rows === there.rows && here.checksum === there.checksum;
}

/**
 * Adds up the first 16 bytes of each entry's SHA-256 modulo 2^128, so that the order of entries does not matter. The
 * hash of an event covers its JSON as the API shows it, its arrival, and whether it notified; that of a row covers its
 * values.
 */
class Checksum {
  #rows = 0;
  #sum = 0n;

  add({ text }: ComparedRow): void {
    const hash = Bun.SHA256.hash(text) as Uint8Array;
    const bytes = new DataView(hash.buffer, hash.byteOffset);
    this.#sum += (bytes.getBigUint64(0) << 64n) | bytes.getBigUint64(8);
    this.#rows++;
  }

  get sum(): Sum {
    const checksum = BigInt.asUintN(128, this.#sum).toString(16).padStart(32, "0");
    return { rows: this.#rows, checksum };
  }
}

/**
 * Reads and compares everything in both databases.
 *
 * @param onRead - called with the number of entries read from the target
 */
export async function prove(
  source: Source,
  target: Target,
  onRead: (entries: number) => void,
): Promise<Compared[]> {
  return [...(await proveEvents(source, target, onRead)), ...(await proveTables(source, target, onRead))];
}

async function proveTables(
  source: Source,
  target: Target,
  onRead: (entries: number) => void,
): Promise<Compared[]> {
  const compared: Compared[] = [];
  for (const table of tables) {
    const here = new Checksum();
    for (const row of source.rowsOf(table)) here.add(row);
    const columns = source.columnsOf(table);
    const there = await sumOf(target.rowsOf(table, columns), onRead);
    const sums = { here: here.sum, there };
    compared.push({
      what: table.name.replaceAll("_", " "),
      projectId: null,
      ...sums,
      examples: agrees(sums)
        ? []
        : await describe(differences(source.rowsOf(table), target.rowsOf(table, columns))),
    });
  }
  return compared;
}

async function proveEvents(
  source: Source,
  target: Target,
  onRead: (entries: number) => void,
): Promise<Compared[]> {
  const slugs = new Map(source.projects().map(({ id, slug }) => [id, slug]));
  const projects = [...new Set([...slugs.keys(), ...(await target.projectsOfEvents())])];
  const there = new Map<number, Sum>();
  const reading = (async () => {
    for (const id of projects) there.set(id, await sumOf(target.eventsOf(id), onRead));
  })();
  const here = await sumsByProject(source);
  await reading;
  const compared: Compared[] = [];
  for (const projectId of new Set([...projects, ...here.keys()])) {
    const sums = {
      here: here.get(projectId)?.sum ?? new Checksum().sum,
      there: there.get(projectId) ?? new Checksum().sum,
    };
    compared.push({
      what: `events of ${slugs.get(projectId) ?? `project ${projectId}`}`,
      projectId,
      ...sums,
      examples: agrees(sums)
        ? []
        : await describe(differences(source.eventsOf(projectId), target.eventsOf(projectId))),
    });
  }
  return compared;
}

async function sumsByProject(source: Source): Promise<Map<number, Checksum>> {
  const sums = new Map<number, Checksum>();
  let eventsLeft = eventsPerTurn;
  for (const event of source.events()) {
    let sum = sums.get(event.projectId);
    if (!sum) {
      sum = new Checksum();
      sums.set(event.projectId, sum);
    }
    sum.add(event);
    if (--eventsLeft === 0) {
      eventsLeft = eventsPerTurn;
      await new Promise(setImmediate);
    }
  }
  return sums;
}

async function sumOf(pages: AsyncIterable<ComparedRow[]>, onRead: (entries: number) => void): Promise<Sum> {
  const sum = new Checksum();
  for await (const page of pages) {
    for (const entry of page) sum.add(entry);
    onRead(page.length);
  }
  return sum.sum;
}

/** Describes the first differences. Only by key, because rows contain secrets. */
async function describe(all: AsyncIterable<Difference<ComparedRow, ComparedRow>>): Promise<string[]> {
  const examples: string[] = [];
  for await (const difference of all) {
    if (examples.length === examplesMax) return [...examples, "and more"];
    const { key } = difference.kind === "extra" ? difference.there : difference.here;
    examples.push(`${key.map((part) => JSON.stringify(part)).join(" ")} ${descriptions[difference.kind]}`);
  }
  return examples;
}

const descriptions = {
  missing: "is missing in PostgreSQL",
  other: "differs in PostgreSQL",
  extra: "is only in PostgreSQL",
} as const;
