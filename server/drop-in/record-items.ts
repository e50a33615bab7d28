import { signatureProblem } from "../auth/identity-signature.ts";
import { keyMay } from "../core/permissions.ts";
import { ProblemError, problem } from "../core/problems.ts";
import { saveGroups } from "../groups/save-groups.ts";
import type { KeyAccess } from "../http/caller.ts";
import type { CheckedItem, ItemOutcome } from "../ingest/batch-parts.ts";
import type { Recorder } from "../ingest/record.ts";
import type { RejectedEvents } from "../ingest/rejected.ts";
import { addToInsight, setInsight } from "../insights/insights.ts";
import { type Joining, joinAll } from "../people/join-ids.ts";
import type { GroupChange } from "../schemas/group-rule.ts";
import { faultInUserId } from "../schemas/user-rule.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import type { Store } from "../storage/store.ts";
import { mergeProperties } from "../users/merge-properties.ts";
import type { Item } from "./item.ts";

/** The id of the item's event, null if it makes none, or the problem for which it is rejected. */
export type Outcome = ItemOutcome | null;

type Deps = {
  recorder: Recorder;
  rejected: RejectedEvents;
  store: Pick<Store, "together" | "control">;
  secrets: SecretBox;
};

/** Events that are checked before they are recorded together. */
const chunkEvents = 500;

/**
 * Merges user properties, joins IDs, saves groups, then records events. Content that isn't accepted is kept as rejected events.
 *
 * Throws a problem that the client should retry, such as `storage-unavailable` and `quota-reached`, even if some events
 * were recorded: losing events would be worse than a retry, which finds them by their ids.
 *
 * @param wire - the wire's name, for messages
 */
export async function recordItems(
  deps: Deps,
  wire: string,
  items: readonly Item[],
  key: KeyAccess,
): Promise<Outcome[]> {
  const { recorder, rejected, store } = deps;
  const outcomes: Outcome[] = items.map(faultOf);
  const valid = items.filter(
    ({ user }, index) => outcomes[index] === null && user && faultInUserId(user.userId) === null,
  );
  // Whoever reads a page could change any user. Its libraries identify them by themselves, so that is no error.
  const changes = key.kind === "publishable" ? [] : valid.flatMap(({ user }) => user ?? []);
  if (changes.length > 0) await mergeProperties(store, key.projectId, changes);
  const refusals = [
    ...(await joinItems(deps, items, outcomes, key)),
    ...(await saveItemGroups(deps, items, outcomes, key)),
  ];

  const withEvent = [...items.keys()].filter((index) => outcomes[index] === null && items[index]!.event);
  for (let start = 0; start < withEvent.length; start += chunkEvents) {
    const chunk = withEvent.slice(start, start + chunkEvents);
    const checked: CheckedItem[] = await recorder.checkAll(
      chunk.map((index) => items[index]!.event),
      key,
    );
    const recorded = await recorder.recordAll(checked, key);
    const retryable = recorded.find(isRetryable);
    if (retryable) throw retryable;
    for (const [at, index] of chunk.entries()) outcomes[index] = recorded[at]!;
  }
  await changeValues(store, items, outcomes, key);

  const named = outcomes.map((outcome) =>
    outcome instanceof ProblemError ? naming(wire, outcome) : outcome,
  );
  await rejected.keep(
    [
      ...named.flatMap((outcome, index) =>
        outcome instanceof ProblemError ? [{ body: bodyOf(items[index]!), problem: outcome }] : [],
      ),
      ...refusals.map(({ item, refusal }) => ({
        body: JSON.stringify(item.sent) ?? "",
        problem: naming(wire, invalid("", refusal.options.detail)),
      })),
    ],
    key,
  );
  return named;
}

type Refusal = { item: Item; refusal: ProblemError };

/**
 * Joins the IDs of items. Returns those that were refused, to be kept with the reason. They are no error for the client,
 * whose events and properties are taken: its libraries send both IDs by themselves.
 */
async function joinItems(
  { store, secrets }: Deps,
  items: readonly Item[],
  outcomes: readonly Outcome[],
  key: KeyAccess,
): Promise<Refusal[]> {
  const refusals: Refusal[] = [];
  const joining: { item: Item; joining: Joining }[] = [];
  for (const [index, item] of items.entries()) {
    if (!item.joining || outcomes[index] !== null) continue;
    const { id, userId, by, signature } = item.joining;
    const refusal = signatureProblem(key, userId, signature, secrets);
    // Libraries in pages know no signatures, so only a wrong one is a mistake.
    if (refusal && signature !== undefined) refusals.push({ item, refusal });
    if (refusal) continue;
    joining.push({ item, joining: { id, userId, by, name: key.keyName, identifies: by !== "alias" } });
  }
  if (joining.length === 0) return refusals;
  const results = await joinAll(
    store,
    key.projectId,
    joining.map((each) => each.joining),
  );
  for (const [
    index,
    {
      item,
      joining: { by },
    },
  ] of joining.entries()) {
    const result = results[index]!;
    if (typeof result === "boolean" || by === "event") continue;
    // Two people who share a browser are usual: its anonymous ID stays with the first.
    if (by === "identify" && result.code === "id-taken") continue;
    refusals.push({ item, refusal: result });
  }
  return refusals;
}

/**
 * Saves the groups of items. Returns those that were refused, to be kept with the reason: they are no error for the
 * client either.
 */
async function saveItemGroups(
  { store, secrets }: Deps,
  items: readonly Item[],
  outcomes: readonly Outcome[],
  key: KeyAccess,
): Promise<Refusal[]> {
  const refusals: Refusal[] = [];
  const saved: { item: Item; change: GroupChange }[] = [];
  for (const [index, item] of items.entries()) {
    if (!item.group || outcomes[index] !== null) continue;
    const { signature, ...change } = item.group;
    if (key.kind === "secret") {
      saved.push({ item, change });
      continue;
    }
    // Whoever reads a page could change any group: a signed user is added, and the rest is left out.
    const { type, id, userId } = change;
    if (userId === undefined || (signature === undefined && key.identify !== "unsigned")) continue;
    const refusal = signatureProblem(key, userId, signature, secrets);
    if (refusal) refusals.push({ item, refusal });
    else saved.push({ item, change: { type, id, userId } });
  }
  if (saved.length === 0) return refusals;
  const results = await saveGroups(
    store,
    key.projectId,
    saved.map(({ change }) => change),
    { mayCreate: key.kind === "secret" },
  );
  for (const [index, refusal] of results.entries())
    if (refusal) refusals.push({ item: saved[index]!.item, refusal });
  return refusals;
}

/** Changes the values of items whose events were recorded. One that can't be set, such as a 201st, rejects its item. */
async function changeValues(
  { control }: Pick<Store, "control">,
  items: readonly Item[],
  outcomes: Outcome[],
  key: KeyAccess,
): Promise<void> {
  if (!keyMay(key, "insights:set")) return;
  for (const [index, { value }] of items.entries()) {
    if (!value || outcomes[index] instanceof ProblemError) continue;
    const { key: name, ...change } = value;
    const insight = { projectId: key.projectId, key: name };
    const by = { nowMs: Date.now(), keyId: key.keyId };
    try {
      if ("add" in change) await addToInsight(control, insight, change, by);
      else await setInsight(control, insight, change, by);
    } catch (error) {
      if (!(error instanceof ProblemError) || isRetryable(error)) throw error;
      outcomes[index] = error;
    }
  }
}

/** Keeps items as rejected events for one problem that all of them have. */
export async function rejectItems(
  { rejected }: Pick<Deps, "rejected">,
  wire: string,
  items: readonly Item[],
  key: KeyAccess,
  problem: ProblemError,
): Promise<Outcome[]> {
  const named = naming(wire, problem);
  await rejected.keep(
    items.map((item) => ({ body: bodyOf(item), problem: named })),
    key,
  );
  return items.map(() => named);
}

/** Throws the first problem if every item was rejected. */
export function throwIfAllRejected(outcomes: readonly Outcome[]): void {
  const [first] = outcomes;
  if (!(first instanceof ProblemError) || !outcomes.every((outcome) => outcome instanceof ProblemError))
    return;
  const more = outcomes.length > 1 ? ` (and ${outcomes.length - 1} more)` : "";
  throw new ProblemError(first.code, { ...first.options, detail: `${first.options.detail}${more}` });
}

/** The same problem with the wire's name, since the list of rejected events has them of all wires. */
export function naming(wire: string, { code, options }: ProblemError): ProblemError {
  return new ProblemError(code, { ...options, detail: `${wire}: ${options.detail}` });
}

function faultOf({ event, user, fault }: Item): ProblemError | null {
  if (fault !== undefined) return invalid("", fault);
  const userFault = user && faultInUserId(user.userId);
  // Otherwise the event is rejected for the same reason, with the event to fix.
  if (userFault && !event) return invalid("/userId", `The user ID ${userFault}.`);
  return null;
}

function invalid(pointer: string, detail: string): ProblemError {
  return problem("body-invalid", { detail, errors: [{ pointer, detail }] });
}

/** The event, which can be fixed and resent, or else the message as it was sent. */
function bodyOf({ event, sent }: Item): string {
  return JSON.stringify(event ?? sent) ?? "";
}

function isRetryable(outcome: Outcome): outcome is ProblemError {
  return outcome instanceof ProblemError && (outcome.status >= 500 || outcome.status === 429);
}
