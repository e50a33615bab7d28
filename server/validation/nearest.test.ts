import { expect, test } from "bun:test";
import { nearest } from "./nearest.ts";

const known = ["channel", "name", "userId", "user_id", "tags", "createdAt", "id", "limit"];

test("a misspelt word gets a suggestion", () => {
  const cases: [word: string, meant: string | null][] = [
    ["chanel", "channel"],
    ["Channel", "channel"],
    ["channelId", "channel"],
    ["nmae", "name"],
    ["lmiti", "limit"],
    ["created_at", "createdAt"],
    ["createdat", "createdAt"],
    ["user-id", "userId"],
    ["ID", "id"],
    ["tag", "tags"],
    ["limits", "limit"],
    ["payload", null],
    ["x", null],
    ["ab", null],
    ["", null],
    ["x".repeat(1_000_000), null],
  ];
  for (const [word, meant] of cases)
    expect([word.slice(0, 20), nearest(word, known)]).toEqual([word.slice(0, 20), meant]);
});
