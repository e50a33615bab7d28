import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Heartbeat } from "../../server/schemas/heartbeat.ts";
import { CodeBlock } from "../components/ui/code-block.tsx";
import { SecretBox } from "../components/ui/copy-button.tsx";
import { SelectField } from "../components/ui/field.tsx";
import { ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { Group } from "../settings/group.tsx";
import { pingUrlQuery } from "./heartbeats.ts";

const curl = "curl -fsS -m 10 --retry 5 -o /dev/null";

/** How a job pings, by what runs it. */
const examples: { label: string; code: (url: string) => string }[] = [
  { label: "crontab", code: (url) => `30 2 * * * /usr/local/bin/backup && ${curl} ${url}` },
  {
    label: "crontab, with the exit status",
    code: (url) => `30 2 * * * /usr/local/bin/backup; ${curl} ${url}/$?`,
  },
  {
    label: "Script, with start and end",
    code: (url) => `${curl} ${url}/start\n/usr/local/bin/backup\n${curl} ${url}/$?`,
  },
  {
    label: "Script, with the job's output",
    code: (url) =>
      `output=$(/usr/local/bin/backup 2>&1)\nstatus=$?\necho "$output" | tail -c 10000 | ${curl} --data-binary @- ${url}/$status`,
  },
  {
    label: "systemd service",
    code: (url) =>
      `[Service]\nExecStart=/usr/local/bin/backup\nExecStopPost=/bin/sh -c '${curl} ${url}/$$EXIT_STATUS'`,
  },
];

/** The address to ping, and examples with it. */
export function Address({ heartbeat: { id, version } }: { heartbeat: Heartbeat }) {
  const project = useProjectSlug();
  const query = pingUrlQuery(project, id);
  // Another version can have another address.
  const { data: url, error, refetch } = useQuery({ ...query, queryKey: [...query.queryKey, version] });
  const [chosen, choose] = useState(0);
  const { label, code } = examples[chosen]!;
  return (
    <Group
      title="Address"
      lead="Your job requests it when it has succeeded: with GET, POST or HEAD. Anyone who has it can ping, so keep it secret."
    >
      {error && !url ? (
        <ErrorState title="The address couldn't be loaded" error={error} retry={() => void refetch()} />
      ) : !url ? (
        <Skeleton className="h-12 rounded-lg" />
      ) : (
        <>
          <SecretBox secret={url} label="Copy address" />
          <p className="text-muted text-sm">
            With <code>/start</code> at its end, it says that a run begins; with <code>/fail</code> or an exit
            status such as <code>/1</code>, that it failed; with <code>/log</code>, nothing but what you send.
          </p>
          <SelectField
            label="Example"
            value={chosen}
            onChange={(event) => choose(Number(event.target.value))}
            className="sm:max-w-xs"
          >
            {examples.map((example, index) => (
              <option key={example.label} value={index}>
                {example.label}
              </option>
            ))}
          </SelectField>
          <CodeBlock label={label} code={code(url)} />
        </>
      )}
    </Group>
  );
}
