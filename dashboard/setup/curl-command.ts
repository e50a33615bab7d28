type CurlCommand = { key: string; channel?: string };

/** A command that sends a sample event to the origin that this browser uses. */
export function curlCommand({ key, channel = "payments" }: CurlCommand): string {
  const event = {
    channel,
    name: "Payment received",
    userId: "u1",
    icon: "💰",
    notify: true,
    tags: { plan: "pro" },
  };
  // A channel's name may contain a quote, which must not end the shell's quoted string.
  const body = JSON.stringify(event).replaceAll("'", "'\\''");
  return `curl -H "X-API-KEY: ${key}" -H "content-type: application/json" -d '${body}' ${location.origin}/api/events`;
}
