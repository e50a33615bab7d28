import type { SampleShop } from "./sample-shop.ts";

const long = "A very long name that nobody would choose, but that an application sends all the same";
const unbroken = "0123456789abcdef".repeat(11);
const arabic = "تم استلام الدفعة من العميل";

const events = [
  {
    channel: "the-channel-with-the-longest-name-that-the-limit-of-64-allows-it",
    name: `${long}, and then some more words, to see where they end on a phone and next to an open event`,
    icon: "📦",
    userId: `user-${unbroken}`.slice(0, 200),
    tags: Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [
        `key-number-${index}`,
        index % 7 === 3 ? unbroken : `value ${index}`,
      ]),
    ),
    description: `# Heading\n\n${unbroken}\n\n| a | b | c |\n|---|---|---|\n| ${long} | ${unbroken} | 3 |\n\n\`\`\`\n${unbroken}\n\`\`\`\n\n> ${long}`,
  },
  {
    channel: "payments",
    name: arabic,
    icon: "💳",
    userId: "عميل-٤٢",
    tags: { المدينة: "القاهرة", amount: "12.50", note: `${arabic} — ${arabic} — ${arabic}` },
    description: `${arabic}. **مرحبا** بالعالم.\n\n- واحد\n- اثنان`,
  },
  { channel: "عربي", name: "שלום עולם (42) - test", icon: "🕊️", tags: { שפה: "עברית" } },
  {
    channel: "payments",
    name: unbroken,
    userId: unbroken.slice(0, 64),
    tags: { [unbroken.slice(0, 64)]: unbroken },
  },
  { channel: "payments", name: "x", icon: "longicon", tags: {} },
];

/**
 * Adds texts that layouts tend to break on: the longest allowed, without spaces, and right to left.
 *
 * @returns the ids of the events: many tags, right to left, and one unbroken word
 */
export async function addAwkwardTexts({
  call,
}: SampleShop): Promise<{ tags: string; arabic: string; unbroken: string }> {
  const ids: string[] = [];
  for (const event of events) {
    const { event: recorded } = await call<{ event: { id: string } }>("POST", "/api/events", event);
    ids.push(recorded.id);
  }
  for (let index = 0; index < 5; index++)
    await call("POST", "/api/events", {
      channel: "pages",
      name: "Page not found",
      tags: { path: `/${index}` },
    });
  await call("POST", "/api/events", { channel: unbroken, name: long, [`${unbroken}`]: 1 });
  await call("POST", "/api/views", { name: long.slice(0, 60), q: `-name:"${long}" plan=pro` }, "session");
  await call("POST", "/api/rules", {
    name: long.slice(0, 60),
    q: `name:"${long}" ${unbroken}`,
    when: { type: "burst", minutes: 5 },
    to: { everyone: true, members: [], destinations: [] },
  });
  await call("POST", "/api/project-destinations", {
    kind: "ntfy",
    name: unbroken.slice(0, 60),
    settings: { topic: "shop-7f3c9b" },
  });
  return { tags: ids[0]!, arabic: ids[1]!, unbroken: ids[3]! };
}
