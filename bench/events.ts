/** The bodies of the load: 500 different events, like those of a small shop, in 20 channels, with three tags each. */
export const eventBodies: string[] = Array.from({ length: 500 }, (_, number) =>
  JSON.stringify({
    channel: `channel-${number % 20}`,
    name: `Event name ${number % 40}`,
    userId: `user_${(number * 7_919) % 100_000}`,
    icon: "💰",
    notify: false,
    tags: { plan: `pro${number % 3}`, country: "DE", amount: String(number) },
  }),
);

export const channelCount = 20;
export const userCount = 100_000;
const subjects = ["Payment", "Order", "Invoice", "Login", "Backup", "Import", "Deployment", "Message"];
const verbs = ["received", "failed", "started", "completed", "cancelled"];
const plans = ["plus", "premium", "pro", "partner"];

export type SentEvent = {
  channel: string;
  name: string;
  userId: string;
  icon: string;
  notify: boolean;
  tags: Record<string, string>;
  createdAt?: string;
};

/** One event in this many has no user. It occurs in every channel. */
const userlessEvery = 47;

/**
 * Returns the event of a number, for rows that need many different events: 20 channels, 40 names, 100,000 users or
 * none, 99,991 amounts. The plan determines the origin, so that `plan=plus` (a quarter of all events) and `origin=web`
 * (half of them) never occur together.
 */
export function eventOf(number: number): SentEvent {
  // Channels and names repeat every 40 numbers, so each is combined with every plan.
  const plan = Math.floor(number / 40) % plans.length;
  return {
    channel: `channel-${number % channelCount}`,
    name: `${subjects[number % subjects.length]} ${verbs[number % verbs.length]}`,
    userId: number % userlessEvery === 3 ? "" : `user_${(number * 7_919) % userCount}`,
    icon: "💰",
    notify: false,
    tags: {
      plan: plans[plan]!,
      origin: plan % 2 === 0 ? "app" : "web",
      amount: String((number * 31) % 99_991),
    },
  };
}

/** A complete HTTP/1.1 request that posts a body to `/api/events`. */
export function post(body: string, apiKey: string): string {
  return [
    "POST /api/events HTTP/1.1",
    "host: 127.0.0.1",
    "content-type: application/json",
    `x-api-key: ${apiKey}`,
    `content-length: ${Buffer.byteLength(body)}`,
    "",
    body,
  ].join("\r\n");
}

/** A complete HTTP/1.1 request that gets a path. */
export function get(path: string, apiKey: string): string {
  return [`GET ${path} HTTP/1.1`, "host: 127.0.0.1", `x-api-key: ${apiKey}`, "", ""].join("\r\n");
}
