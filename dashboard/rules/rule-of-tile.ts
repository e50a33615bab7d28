import type { ShownTile } from "../boards/boards.ts";
import { newRuleForm, type RuleForm, withType } from "./rule-form.ts";

/** The form of a rule that measures what a tile shows; null if that is no metric. */
export function ruleFormOfTile(tile: ShownTile): RuleForm | null {
  const form = { ...withType(newRuleForm(), "metric"), name: tile.title, ...forEachOf(tile) };
  // A rule counts no groups.
  if ("per" in tile && tile.per !== undefined) return null;
  if ("metric" in tile && "q" in tile)
    return { ...form, q: tile.q ?? "", metric: tile.metric ?? "events", tag: tile.tag ?? "" };
  if (tile.type !== "funnel" || !("steps" in tile)) return null;
  const windowHours = String(tile.windowSeconds / 3_600);
  return {
    ...form,
    metric: "conversion",
    steps: tile.steps,
    windowHours,
    amount: "1",
    unit: "days",
    compare: "below",
  };
}

function forEachOf(tile: ShownTile): Partial<RuleForm> {
  if (tile.type === "funnel" || !("split" in tile) || tile.split === undefined) return {};
  const { split } = tile;
  // A rule follows values of events.
  if (/^(?:user|group)\./.test(split)) return {};
  return split.startsWith("tag.")
    ? { each: "tag", eachTag: split.slice("tag.".length) }
    : { each: split as "channel" | "name" };
}
