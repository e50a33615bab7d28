/** The changes to make in other services' clients. */
const sdks = (origin: string): { name: string; address: string; note: string }[] => [
  { name: "Segment, RudderStack", address: origin, note: "as the host; an API key as the write key" },
  { name: "PostHog", address: origin, note: "as the host; an API key as the project's key" },
  {
    name: "OpenTelemetry logs",
    address: `${origin}/v1/logs`,
    note: "with an API key in the header x-api-key",
  },
  { name: "Slack webhooks", address: `${origin}/slack/YOUR_API_KEY`, note: "as the webhook's address" },
  { name: "CloudEvents", address: `${origin}/cloudevents`, note: "with an API key in the header x-api-key" },
  { name: "LogSnag", address: origin, note: "as the address; an API key as the token" },
];

/** Explains how other services' clients send events here, without new code. */
export function ExistingSdks() {
  return (
    <section aria-label="Use an existing SDK" className="mt-4 flex flex-col gap-3">
      <h2 className="font-semibold text-sm">Use an existing SDK</h2>
      <p className="text-muted text-sm">
        Clients of these services send here if you change their address and key.
      </p>
      <dl className="divide-y divide-line rounded-lg border border-line">
        {sdks(location.origin).map(({ name, address, note }) => (
          <div key={name} className="flex flex-col gap-1 px-3 py-2.5 md:flex-row md:gap-4">
            <dt className="w-44 shrink-0 font-medium text-sm">{name}</dt>
            <dd className="min-w-0 text-muted text-sm">
              <code className="font-mono text-ink text-xs [overflow-wrap:anywhere]">{address}</code> {note}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
