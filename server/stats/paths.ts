import type { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { EventFilter } from "../event/filter.ts";
import type {
  PathsQuery as PathsParameters,
  Paths as PathsResponse,
  PathsUsersQuery,
} from "../schemas/paths.ts";
import type { CountedPathUsers, PathPlace, Paths, PathsQuery } from "../storage/analysis/path-queries.ts";
import { faultInText } from "../validation/text-rule.ts";
import { filterAndRange, withSearch } from "./filters.ts";

const dayMs = 24 * 60 * 60 * 1_000;
const end = "end";

type Asked = { projectId: number; query: z.infer<typeof PathsParameters>; tags: [string, string][] };

/** The paths that a request asks for. Throws `query-invalid`. */
export function pathsQueryOf({ projectId, query, tags }: Asked): PathsQuery {
  const { filter: steps, fromMs, toMs } = filterAndRange(query, tags, (toMs) => toMs - 30 * dayMs);
  return {
    projectId,
    range: { fromMs, toMs },
    anchor: withSearch({}, query.anchor ?? "", '"anchor"'),
    steps,
    direction: query.direction,
    windowMs: query.window * 1_000,
    length: query.length,
    mergesRepeats: query.repeats === "merge",
    names: query.names,
  };
}

/** Paths as the API returns them, with an ID for each node. */
export function pathsOf({ nodes, links }: Paths): Pick<PathsResponse, "users" | "nodes" | "links"> {
  const ids = nodes.map(idOf);
  return {
    users: nodes[0]!.users,
    nodes: nodes.map((node, index) => ({ id: ids[index]!, ...node })),
    links: links.map(({ source, target, users }) => ({ source: ids[source]!, target: ids[target]!, users })),
  };
}

/** The users that a request lists. Throws `query-invalid`. */
export function pathUsersOf(asked: Asked & { query: z.infer<typeof PathsUsersQuery> }): CountedPathUsers {
  const paths = pathsQueryOf(asked);
  const { source, target } = asked.query;
  const from = source === undefined ? undefined : placeOf("source", source, paths);
  if (target === end) {
    if (from && from.step < paths.length) return { of: "paths", paths, source: from, target: null };
    throw invalid('"target=end" needs the ID of a node before the last step as "source".');
  }
  const to = placeOf("target", target, paths);
  if (from && from.step !== to.step - 1)
    throw invalid('"source" must be a node of the step before "target".');
  return { of: "paths", paths, source: from, target: to };
}

/** The condition that each user's event matches. */
export function filterOfPathUsers({ paths, source, target }: CountedPathUsers): EventFilter {
  const { step, name } = (target ?? source)!;
  if (step === 0) return paths.anchor;
  if (name === null) return paths.steps;
  return { ...paths.steps, name };
}

function idOf({ step, name }: PathPlace): string {
  return name === null ? String(step) : `${step}:${name}`;
}

function placeOf(parameter: string, id: string, { length }: PathsQuery): PathPlace {
  const [, step, name] = /^(\d)(?::(.+))?$/s.exec(id) ?? [];
  const isKnown = step !== undefined && Number(step) <= length && (Number(step) > 0 || name === undefined);
  if (isKnown && faultInText(name ?? "", { max: limits.nameCharacters }) === null)
    return { step: Number(step), name: name ?? null };
  throw invalid(`"${parameter}" must be the ID of a node, as GET /api/paths returns it.`);
}

function invalid(detail: string) {
  return problem("query-invalid", { detail });
}
