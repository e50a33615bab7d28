import { limits } from "../core/limits.ts";
import { nearest } from "../validation/nearest.ts";
import type { EventFix } from "./event-fix.ts";

type Members = Record<string, unknown>;
/** Changes a text; `max` is its limit in code points, `lines` whether it can have line breaks. */
type ChangeText = (text: string, max: number, lines: boolean) => string;

/** The texts of an event, and their limits. Without `event.ts`, so that the dashboard needs no schemas. */
const textMaxima: Record<string, number> = {
  channel: limits.channelCharacters,
  name: limits.nameCharacters,
  event: limits.nameCharacters,
  userId: limits.userIdCharacters,
  user_id: limits.userIdCharacters,
  icon: limits.iconCharacters,
  description: limits.descriptionCharacters,
};

/** All members that an event can have. */
export const eventMembers: readonly string[] = [
  ...Object.keys(textMaxima),
  "notify",
  "tags",
  "id",
  "createdAt",
];

/** Applies changes to a rejected event, in their order. Returns a new value; what isn't an object stays as it is. */
export function applyFixes(body: unknown, fixes: readonly EventFix[]): unknown {
  return isObject(body) ? fixes.reduce(applyFix, body) : body;
}

function applyFix(event: Members, fix: EventFix): Members {
  switch (fix.type) {
    case "tags-to-strings":
      return withTags(event, (tags) =>
        tags.map(([key, value]) => [key, isConvertible(value) ? String(value) : value]),
      );
    case "rename":
      if (!Object.hasOwn(event, fix.from) || Object.hasOwn(event, fix.to)) return event;
      return objectOf(
        Object.entries(event).map(([name, value]) => [name === fix.from ? fix.to : name, value]),
      );
    case "drop":
      return without(event, fix.member);
    case "to-tag":
      return moveToTag(event, fix.member);
    case "shorten":
      return changeTexts(event, (text, max) => shortened(text, max));
    case "clean":
      return changeTexts(event, (text, _, lines) => cleaned(text, lines));
    case "set-channel":
      return { ...event, channel: fix.channel };
  }
}

/** The changes that are likely to mend an event: those that its faults call for, and that lose nothing if possible. */
export function suggestFixes(body: unknown): EventFix[] {
  if (!isObject(body)) return [];
  const fixes: EventFix[] = [];
  const taken = new Set(Object.keys(body));
  for (const member of Object.keys(body)) {
    if (eventMembers.includes(member)) continue;
    const to = nearest(member, eventMembers);
    if (to !== null && !taken.has(to)) {
      fixes.push({ type: "rename", from: member, to });
      taken.add(to);
    } else if (typeof body[member] === "string" || isConvertible(body[member])) {
      fixes.push({ type: "to-tag", member });
    } else {
      fixes.push({ type: "drop", member });
    }
  }
  const renamed = applyFixes(body, fixes) as Members;
  if (isObject(renamed.tags) && Object.values(renamed.tags).some(isConvertible))
    fixes.push({ type: "tags-to-strings" });
  const clean = applyFix(renamed, { type: "clean" });
  if (isChanged(renamed, clean)) fixes.push({ type: "clean" });
  if (isChanged(clean, applyFix(clean, { type: "shorten" }))) fixes.push({ type: "shorten" });
  return fixes.slice(0, limits.eventFixes);
}

function moveToTag(event: Members, member: string): Members {
  const value = event[member];
  const { tags = {} } = event;
  const isMovable =
    Object.hasOwn(event, member) &&
    (typeof value === "string" || isConvertible(value)) &&
    isObject(tags) &&
    !Object.hasOwn(tags, member);
  if (!isMovable) return event;
  return { ...without(event, member), tags: objectOf([...Object.entries(tags), [member, String(value)]]) };
}

function changeTexts(event: Members, change: ChangeText): Members {
  const texts = Object.entries(event).map(([name, value]): [string, unknown] => {
    const max = Object.hasOwn(textMaxima, name) ? textMaxima[name] : undefined;
    return [
      name,
      typeof value === "string" && max !== undefined ? change(value, max, name === "description") : value,
    ];
  });
  return withTags(objectOf(texts), (tags) => {
    const seen = new Set<string>();
    return tags.map(([key, value]) => {
      const changed = change(key, limits.tagKeyCharacters, false);
      // Two keys must not become one.
      const newKey =
        seen.has(changed) || (changed !== key && tags.some(([other]) => other === changed)) ? key : changed;
      seen.add(newKey);
      return [newKey, typeof value === "string" ? change(value, limits.tagValueCharacters, true) : value];
    });
  });
}

function withTags(event: Members, change: (tags: [string, unknown][]) => [string, unknown][]): Members {
  if (!isObject(event.tags)) return event;
  return { ...event, tags: objectOf(change(Object.entries(event.tags))) };
}

function shortened(text: string, max: number): string {
  if (text.length <= max) return text;
  const characters = [...text];
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join("")}…`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const control = /[\u0000-\u001f\u007f-\u009f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const controlInLines = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

/** Line breaks and tabs become spaces where there can be none. */
function cleaned(text: string, lines: boolean): string {
  const spaced = lines ? text : text.replace(/[\t\n\r]+/g, " ");
  return spaced.replace(lines ? controlInLines : control, "").toWellFormed();
}

function isConvertible(value: unknown): value is number | boolean {
  return typeof value === "number" || typeof value === "boolean";
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isChanged(before: Members, after: Members): boolean {
  return JSON.stringify(before) !== JSON.stringify(after);
}

function without(event: Members, member: string): Members {
  return objectOf(Object.entries(event).filter(([name]) => name !== member));
}

/** Unlike an object literal, it keeps a member called `__proto__`. */
function objectOf(entries: [string, unknown][]): Members {
  return Object.fromEntries(entries);
}
