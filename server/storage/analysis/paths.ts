import { Turns } from "../../scheduling/turns.ts";
import { type FollowedPaths, followPaths } from "./follow-paths.ts";
import { largestOf } from "./largest.ts";
import type { CountedPathUsers, PathNode, PathPlace, Paths, PathsQuery } from "./path-queries.ts";
import type { Watch } from "./queries.ts";
import type { Sources } from "./scan.ts";

/** Users that are added up between two looks at the clock. */
const usersOfTurn = 4_096;

/** Counts what users do after or before an event. */
export async function paths(sources: Sources, query: PathsQuery, watch: Watch): Promise<Paths> {
  const followed = await followPaths(sources, query, watch);
  const steps = await stepsOf(followed, query, watch);
  const nodes: PathNode[] = [
    { step: 0, name: null, names: 0, users: followed.users.count, ended: 0 },
    ...steps.flatMap(({ nodes }) => nodes),
  ];
  // By source and target, both as indexes of nodes.
  const users = new Float64Array(nodes.length * nodes.length);
  await eachUser(followed, query, watch, (user) => {
    let source = 0;
    for (const [index, { nodeOf, first }] of steps.entries()) {
      const name = followed.nameOf(user, index + 1);
      if (name === 0) {
        nodes[source]!.ended!++;
        return;
      }
      const target = first + nodeOf(name);
      users[source * nodes.length + target]!++;
      source = target;
    }
  });
  const links = Array.from(users, (count, index) => ({
    source: Math.floor(index / nodes.length),
    target: index % nodes.length,
    users: count,
  }));
  return { nodes, links: links.filter(({ users }) => users > 0) };
}

type Step = {
  /** The index of its first node. */
  first: number;
  nodes: PathNode[];
  /** The index of a name's node among those of the step. */
  nodeOf: (name: number) => number;
};

/** The names of each step that are told apart, and the others as one. */
async function stepsOf(followed: FollowedPaths, query: PathsQuery, watch: Watch): Promise<Step[]> {
  const { texts } = followed.names;
  const width = texts.length + 1;
  const counts = new Uint32Array(query.length * width);
  await eachUser(followed, query, watch, (user) => {
    for (let step = 1; step <= query.length; step++) {
      const name = followed.nameOf(user, step);
      if (name === 0) return;
      counts[(step - 1) * width + name]!++;
    }
  });
  const steps: Step[] = [];
  let first = 1;
  for (let step = 1; step <= query.length; step++) {
    const own = counts.subarray((step - 1) * width, step * width);
    const ended = step === query.length ? null : 0;
    const turns = new Turns(query.projectId, watch.signal);
    const { numbers, texts: names, total } = await largestOf(own, texts, query.names + 1, turns);
    // A single other name is shown as itself.
    const shown = names === numbers.length ? numbers : numbers.slice(0, query.names);
    const others = names - shown.length;
    const places = new Map(shown.map((name, place) => [name, place]));
    const nodes: PathNode[] = shown.map((name) => {
      return { step, name: texts[name - 1]!, names: 1, users: own[name]!, ended };
    });
    if (others > 0) {
      const usersOfOthers = shown.reduce((rest, name) => rest - own[name]!, total);
      nodes.push({ step, name: null, names: others, users: usersOfOthers, ended });
    }
    steps.push({ first, nodes, nodeOf: (name) => places.get(name) ?? shown.length });
    first += nodes.length;
  }
  return steps;
}

/** The users of a link or node, and the time of the event because of which each counts. */
export async function selectPathUsers(
  sources: Sources,
  { paths: query, source, target }: CountedPathUsers,
  watch: Watch,
): Promise<{ followed: FollowedPaths; msOf: (user: number) => number | null }> {
  const followed = await followPaths(sources, query, watch, true);
  const steps = await stepsOf(followed, query, watch);
  const isAt = (user: number, { step, name }: PathPlace): boolean => {
    if (step === 0) return true;
    const number = followed.nameOf(user, step);
    if (number === 0) return false;
    const { nodes, nodeOf } = steps[step - 1]!;
    return nodes[nodeOf(number)]!.name === name;
  };
  const msAt = (user: number, step: number) =>
    step === 0 ? followed.anchorMsOf(user) : followed.msOf(user, step);
  function msOf(user: number): number | null {
    if (user === 0 || (source && !isAt(user, source))) return null;
    if (target === null) {
      const { step } = source!;
      return step < query.length && followed.nameOf(user, step + 1) === 0 ? msAt(user, step) : null;
    }
    return isAt(user, target) ? msAt(user, target.step) : null;
  }
  return { followed, msOf };
}

async function eachUser(
  { users }: FollowedPaths,
  { projectId }: PathsQuery,
  { signal }: Watch,
  visit: (user: number) => void,
): Promise<void> {
  const turns = new Turns(projectId);
  for (let user = 1; user <= users.count; user++) {
    visit(user);
    if (user % usersOfTurn !== 0 || !turns.isOver) continue;
    await turns.next();
    signal?.throwIfAborted();
  }
}
