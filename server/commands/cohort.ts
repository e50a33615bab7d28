import { defineCommand } from "citty";
import { z } from "zod";
import { limits } from "../core/limits.ts";
import type { Cohort, CohortPreview } from "../schemas/cohort.ts";
import type { UserInList } from "../schemas/user.ts";
import { countOf } from "./filter-args.ts";
import { onOneLine, printLine, printResult, report, write } from "./output.ts";
import { type Source, sourceArgs, withSource } from "./source.ts";
import { printTable } from "./table.ts";
import { UsageError } from "./with-store.ts";

const cohort = {
  type: "positional",
  required: true,
  description: "The cohort, by name or ID",
  valueHint: "COHORT",
} as const;
const json = { type: "boolean", description: "Print JSON" } as const;

const list = defineCommand({
  meta: { name: "list", description: "List a project's cohorts, by name" },
  args: { json: { type: "boolean", description: "Print each cohort as a line of JSON" }, ...sourceArgs },
  run: ({ args }) =>
    withSource(args, ["read"], async (source) => {
      const cohorts = await listCohorts(source);
      if (args.json) for (const each of cohorts) await printLine(JSON.stringify(each));
      else printTable([["COHORT", "PEOPLE", "CONDITIONS", "ID"], ...cohorts.map(columnsOf)]);
    }),
});

const create = defineCommand({
  meta: {
    name: "create",
    description:
      "Create a cohort from JSON on standard input (docs/cohorts.md), and print its ID to standard output",
  },
  args: { json, ...sourceArgs },
  run: ({ args }) =>
    withSource(args, ["read", "manage"], async (source) => {
      const body = JSON.stringify(await readConditions());
      const { cohort } = await source.json<{ cohort: Cohort }>("/api/cohorts", { method: "POST", body });
      await printResult(args.json, cohort, cohort.id);
    }),
});

const preview = defineCommand({
  meta: {
    name: "preview",
    description:
      "Count the people whom the conditions on standard input describe (docs/cohorts.md). Nothing is saved",
  },
  args: { json, ...sourceArgs },
  run: ({ args }) =>
    withSource(args, ["read", "manage"], async (source) => {
      // The file that `create` takes has a name, too.
      const { name: _, ...draft } = await readConditions();
      const { people, of, sample } = await source.json<CohortPreview>("/api/cohorts/preview", {
        method: "POST",
        body: JSON.stringify(draft),
      });
      const named = people === 0 ? "" : `, such as ${sample.map(onOneLine).join(", ")}`;
      const text = `${people.toLocaleString("en")} of ${of.toLocaleString("en")} people${named}`;
      await printResult(args.json, { people, of, sample }, text);
    }),
});

const members = defineCommand({
  meta: { name: "members", description: "List the people of a cohort, by ID" },
  args: {
    cohort,
    limit: { type: "string", default: "20", description: "Number of people", valueHint: "N" },
    json: { type: "boolean", description: "Print each person as a line of JSON" },
    ...sourceArgs,
  },
  run: ({ args }) =>
    withSource(args, ["read"], async (source) => {
      const count = countOf("--limit", args.limit);
      const { id } = await findByText(source, args.cohort);
      const found: UserInList[] = [];
      for await (const person of membersOf(source, id, count)) {
        if (args.json) await printLine(JSON.stringify(person));
        else found.push(person);
      }
      if (!args.json)
        printTable([["USER", "EVENTS", "LAST EVENT", "OTHER IDS"], ...found.map(columnsOfPerson)]);
    }),
});

const exportPeople = defineCommand({
  meta: {
    name: "export",
    description: "Print all people of a cohort with their properties, as CSV or NDJSON",
  },
  args: {
    cohort,
    format: {
      type: "enum",
      options: ["csv", "ndjson"],
      default: "csv",
      description: "How to print them",
    },
    json: { type: "boolean", description: "The same as --format ndjson" },
    ...sourceArgs,
  },
  run: ({ args }) =>
    withSource(args, ["read"], async (source) => {
      const { id } = await findByText(source, args.cohort);
      const format = args.json ? "ndjson" : args.format;
      const { body } = await source.request(`/api/cohorts/${id}/export?format=${format}`);
      if (body) for await (const bytes of body) await write(bytes);
    }),
});

const remove = defineCommand({
  meta: { name: "delete", description: "Delete a cohort that nothing names" },
  args: { cohort, json, ...sourceArgs },
  run: ({ args }) =>
    withSource(args, ["read", "manage"], async (source) => {
      const { id, name } = await findByText(source, args.cohort);
      await source.request(`/api/cohorts/${id}`, { method: "DELETE" });
      await report(args.json, { id, name }, `Deleted the cohort "${name}".`);
    }),
});

export const cohortCommand = defineCommand({
  meta: { name: "cohort", description: "Manage cohorts, saved searches of people, and list who is in them" },
  subCommands: { list, create, preview, members, export: exportPeople, delete: remove },
});

async function listCohorts(source: Source): Promise<Cohort[]> {
  return (await source.json<{ cohorts: Cohort[] }>("/api/cohorts")).cohorts;
}

async function findByText(source: Source, text: string): Promise<Cohort> {
  const found = (await listCohorts(source)).find(({ id, name }) => id === text || name === text);
  if (found) return found;
  throw new UsageError(`There is no cohort "${text}". List them with: tidings cohort list`);
}

/** Up to `count` people of a cohort. */
async function* membersOf(source: Source, id: string, count: number): AsyncGenerator<UserInList> {
  let cursor: string | null = "";
  for (let left = count; left > 0 && cursor !== null; ) {
    const query = new URLSearchParams({
      limit: String(Math.min(left, limits.pageItems)),
      ...(cursor && { cursor }),
    });
    const page: { users: UserInList[]; nextCursor: string | null } = await source.json(
      `/api/cohorts/${id}/members?${query}`,
    );
    yield* page.users;
    left -= page.users.length;
    cursor = page.nextCursor;
  }
}

async function readConditions(): Promise<Record<string, unknown>> {
  try {
    // The API says what is wrong with a field.
    return z.record(z.string(), z.unknown()).parse(JSON.parse(await Bun.stdin.text()));
  } catch {
    throw new UsageError("Send the cohort as a JSON object on standard input. docs/cohorts.md has examples.");
  }
}

function columnsOf({ name, people, match, conditions, failure, id }: Cohort): string[] {
  const types = conditions.map(({ type }) => type).join(", ");
  const state = failure === null ? "" : " (failed)";
  return [
    onOneLine(name),
    people === null ? "…" : `${people.toLocaleString("en")}${state}`,
    `${match}: ${types}`,
    id,
  ];
}

function columnsOfPerson({ userId, events, lastSeenAt, ids }: UserInList): string[] {
  return [
    onOneLine(userId),
    events.toLocaleString("en"),
    lastSeenAt ?? "never",
    ids.slice(1).map(onOneLine).join(", "),
  ];
}
