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
const examples = {
  crontab: (url: string) => `30 2 * * * /usr/local/bin/backup && ${curl} ${url}`,
  "exit status": (url: string) => `30 2 * * * /usr/local/bin/backup; ${curl} ${url}/$?`,
  "start and end": (url: string) => `${curl} ${url}/start\n/usr/local/bin/backup\n${curl} ${url}/$?`,
  "output of the job": (url: string) =>
    `output=$(/usr/local/bin/backup 2>&1); status=$?\necho "$output" | tail -c 10000 | ${curl} --data-binary @- ${url}/$status`,
  systemd: (url: string) =>
    `[Service]\nExecStart=/usr/local/bin/backup\nExecStopPost=/bin/sh -c '${curl} ${url}/$$EXIT_STATUS'`,
};
type Example = keyof typeof examples;

/** The address to ping, and examples with it. */
export function Address({ heartbeat: { id, version } }: { heartbeat: Heartbeat }) {
  const project = useProjectSlug();
  const query = pingUrlQuery(project, id);
  // Another version can have another address.
  const { data: url, error, refetch } = useQuery({ ...query, queryKey: [...query.queryKey, version] });
  const [example, setExample] = useState<Example>("crontab");
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
            value={example}
            onChange={(event) => setExample(event.target.value as Example)}
            className="sm:max-w-xs"
          >
            <option value="crontab">crontab</option>
            <option value="exit status">crontab, with the exit status</option>
            <option value="start and end">Script, with start and end</option>
            <option value="output of the job">Script, with the job's output</option>
            <option value="systemd">systemd service</option>
          </SelectField>
          <CodeBlock label="Example" code={examples[example](url)} />
        </>
      )}
    </Group>
  );
}
