/** What the load consists of: 500 different events, like those of a small shop, in 20 channels with three tags each. */
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

/** A whole HTTP/1.1 request that posts a body to `/api/events`. */
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
