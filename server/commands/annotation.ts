import "../validation/messages.ts";
import { defineCommand } from "citty";
import { createAnnotation, deleteAnnotation, listAnnotations } from "../annotations/annotations.ts";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import { listBoards } from "../boards/boards.ts";
import { isoOf } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import { findProject } from "../projects/projects.ts";
import { type Annotation, NewAnnotation } from "../schemas/annotation.ts";
import type { Store } from "../storage/store.ts";
import { jsonArg, printResult, report } from "./output.ts";
import { projectArg } from "./project-arg.ts";
import { printTable } from "./table.ts";
import { ArgumentError, UsageError, withStore } from "./with-store.ts";

const list = defineCommand({
  meta: { name: "list", description: "List a project's annotations, newest first" },
  args: {
    project: projectArg,
    json: { type: "boolean", description: "Print each annotation as a line of JSON" },
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const { id } = await findProject(control, args.project);
      const annotations = await listAll(control, id);
      if (args.json) for (const each of annotations) console.log(JSON.stringify(each));
      else printTable([["ANNOTATION", "TYPE", "AT OR SEARCH", "ID"], ...annotations.map(columnsOf)]);
    }),
});

const create = defineCommand({
  meta: { name: "create", description: "Mark a moment, a day or events on charts, and print the ID" },
  args: {
    name: { type: "positional", required: true, description: "What charts call it", valueHint: "NAME" },
    project: projectArg,
    at: {
      type: "string",
      description: "The moment, in ISO 8601, or the day, as a date (default: now)",
      valueHint: "TIME",
    },
    board: { type: "string", description: "Only on this board, by name or ID", valueHint: "BOARD" },
    q: {
      type: "string",
      description: "In place of a moment: mark the events of a search",
      valueHint: "SEARCH",
    },
    icon: { type: "string", description: "An emoji, for example", valueHint: "ICON" },
    json: jsonArg,
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      if (args.q !== undefined && (args.at !== undefined || args.board !== undefined))
        throw new ArgumentError("--q marks events. Leave out --at and --board.");
      const { id: projectId } = await findProject(control, args.project);
      const body = NewAnnotation.safeParse({
        name: args.name,
        ...(args.icon !== undefined && { icon: args.icon }),
        ...(args.q !== undefined
          ? { type: "events", q: args.q }
          : {
              type: "note",
              at: args.at ?? isoOf(Date.now()),
              board: args.board === undefined ? null : await boardIdOf(control, projectId, args.board),
            }),
      });
      if (!body.success) {
        const { path, message } = body.error.issues[0]!;
        throw new ArgumentError(`The annotation's ${String(path.at(-1))} ${message}.`);
      }
      const by = { actor: commandActor, projectId };
      const created = await makeChange(control, by, (change) => createAnnotation(change, body.data));
      await printResult(args.json, created, created.id);
    }),
});

const remove = defineCommand({
  meta: { name: "delete", description: "Delete an annotation" },
  args: {
    annotation: {
      type: "positional",
      required: true,
      description: "The annotation, by ID or name",
      valueHint: "ANNOTATION",
    },
    project: projectArg,
    json: jsonArg,
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const { id: projectId, slug } = await findProject(control, args.project);
      // Of several with a name, the newest.
      const found = (await listAll(control, projectId)).find(
        ({ id, name }) => id === args.annotation || name === args.annotation,
      );
      if (!found)
        throw new UsageError(
          `The project "${slug}" has no annotation "${args.annotation}". List them with: tidings annotation list --project ${slug}`,
        );
      const by = { actor: commandActor, projectId };
      const deleted = await makeChange(control, by, (change) => deleteAnnotation(change, found.id));
      await report(args.json, deleted, `The annotation "${found.name}" is deleted.`);
    }),
});

export const annotationCommand = defineCommand({
  meta: { name: "annotation", description: "Mark deployments, other events and moments on charts" },
  subCommands: { list, create, delete: remove },
});

/** All annotations of a project, newest first: there are as many as `limits` allow. */
async function listAll(control: Store["control"], projectId: number): Promise<Annotation[]> {
  const all: Annotation[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await listAnnotations(control, projectId, { limit: limits.pageItems, cursor });
    all.push(...page.annotations);
    if (page.nextCursor === null) return all;
    cursor = page.nextCursor;
  }
}

async function boardIdOf(control: Store["control"], projectId: number, text: string): Promise<string> {
  const boards = await listBoards(control, projectId);
  const found = boards.find(({ id, name }) => id === text || name === text);
  if (found) return found.id;
  throw new UsageError(
    `The project has no board "${text}". It has: ${boards.map(({ name }) => name).join(", ") || "none"}.`,
  );
}

function columnsOf(annotation: Annotation): string[] {
  const { type, name, id } = annotation;
  return [name, type, annotation.type === "note" ? annotation.at : annotation.q, id];
}
