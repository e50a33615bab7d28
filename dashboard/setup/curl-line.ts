type CurlLine = { key: string; channel?: string };

/** A command that sends an event worth looking at, to the address that this browser uses. */
export function curlLine({ key, channel = "payments" }: CurlLine): string {
  const event = {
    channel,
    name: "Payment received",
    userId: "u1",
    icon: "💰",
    notify: true,
    tags: { plan: "pro" },
  };
  // A channel may be called anything; a quote in it must not end the quotes of the shell.
  const body = JSON.stringify(event).replaceAll("'", "'\\''");
  return `curl -H "X-API-KEY: ${key}" -H "content-type: application/json" -d '${body}' ${location.origin}/api/events`;
}
