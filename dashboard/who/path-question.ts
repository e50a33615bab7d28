import { stepNameOf } from "../../server/schemas/step-name.ts";

/** The users who came to a node of a path, or whose path ended at one. */
export type PathQuestion = {
  of: "paths";
  from: string;
  to: string;
  anchor: string;
  /** Empty if the search says it. */
  anchorName: string;
  direction: "after" | "before";
  length: number;
  windowSeconds: number;
  names: number;
  repeats: "merge" | "keep";
  /** The events that count as steps. */
  q: string;
  /** IDs of nodes: `1:Order placed`; of the other names of a step `1`, and of the anchor `0`. */
  source?: string;
  /** `end`: those without a step after `source`. */
  target: string;
};

export function pathAddressOf(question: PathQuestion): Record<string, string> {
  const { of, from, to, anchor, anchorName, direction, length, windowSeconds, names, repeats, q } = question;
  return {
    ...{ of, from, to, anchor, direction, length: String(length), window: String(windowSeconds) },
    ...{ names: String(names), repeats, q, target: question.target },
    ...(anchorName !== "" && { anchorName }),
    ...(question.source !== undefined && { source: question.source }),
  };
}

/** The question of an address; null if it is none. */
export function pathQuestionIn(
  text: (name: string) => string,
  numberIn: (text: string) => number | undefined,
): PathQuestion | null {
  const [length, windowSeconds, names] = [text("length"), text("window"), text("names")].map(numberIn);
  const [from, to, target, source] = [text("from"), text("to"), text("target"), text("source")];
  if (!length || !windowSeconds || !names || target === "") return null;
  return {
    ...{ of: "paths", from, to, anchor: text("anchor"), anchorName: text("anchorName") },
    direction: text("direction") === "before" ? "before" : "after",
    ...{ length, windowSeconds, names, repeats: text("repeats") === "keep" ? "keep" : "merge" },
    ...{ q: text("q"), target },
    ...(source !== "" && { source }),
  };
}

/** The parameters of the request that lists the users. */
export function pathQueryOf(question: PathQuestion): [string, string][] {
  const { anchorName: _, of: __, ...query } = pathAddressOf(question);
  return Object.entries(query).filter(([, value]) => value !== "");
}

/** "Order placed, 2 events after Account created". */
export function pathTitleOf(question: PathQuestion): string {
  const { direction, source, target } = question;
  const anchor = `“${anchorText(question)}”`;
  const nameOf = (id: string) => (id === "0" ? anchor : nameIn(id));
  if (target === "end")
    return source === "0" || source === undefined
      ? `Nothing ${direction} ${anchor}`
      : `Nothing ${direction === "after" ? "after" : "before"} ${nameOf(source)}`;
  const step = Number(target.split(":", 1)[0]);
  if (step === 0) return `Had the event ${anchor}`;
  return `${nameIn(target)}, ${step === 1 ? "1 event" : `${step} events`} ${direction} ${anchor}`;
}

function nameIn(id: string): string {
  const colon = id.indexOf(":");
  return colon === -1 ? "Another event" : `“${id.slice(colon + 1)}”`;
}

/** The name of the event that paths begin or end at. */
function anchorText({ anchor, anchorName }: Pick<PathQuestion, "anchor" | "anchorName">): string {
  return stepNameOf(anchor, anchorName) ?? anchor;
}
