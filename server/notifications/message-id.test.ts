import { expect, test } from "bun:test";
import { messageIdOf } from "./message-id.ts";

test("a message keeps its id, and shares it with no other delivery or installation", () => {
  const delivery = { id: 7, createdAt: 1_774_612_800_000 };
  const id = messageIdOf("installation", delivery);
  expect(id).toMatch(/^msg_[0-9a-f]{32}$/);
  expect(messageIdOf("installation", { ...delivery })).toBe(id);
  const others = [
    messageIdOf("another", delivery),
    messageIdOf("installation", { ...delivery, id: 8 }),
    messageIdOf("installation", { ...delivery, createdAt: delivery.createdAt + 1 }),
  ];
  expect(new Set([id, ...others]).size).toBe(4);
});
