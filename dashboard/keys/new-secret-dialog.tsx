import type { Key } from "../../server/schemas/key.ts";
import { Button } from "../components/ui/button.tsx";
import { CodeBlock } from "../components/ui/code-block.tsx";
import { SecretBox } from "../components/ui/copy-button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { ArrivalNote } from "../setup/arrival-note.tsx";
import { ExampleTabs } from "../setup/example-tabs.tsx";
import { websiteLine } from "./website-line.tsx";

type Props = {
  created: Key;
  secret: string;
  /** Says what happens to the old key. */
  note?: string;
  close: () => void;
};

/** Shows a new key, for the only time, with an example of its use. */
export function NewSecretDialog({ created, secret, note, close }: Props) {
  const project = useProjectSlug();
  const maySend = created.kind === "secret" && created.scopes.includes("ingest");
  const example = maySend ? null : exampleOf(created, secret);
  return (
    <Dialog
      open
      wide
      onOpenChange={close}
      title="Your new API key"
      description={["Copy it now. You won't see it again.", note].filter(Boolean).join(" ")}
    >
      <div className="flex flex-col gap-4">
        <SecretBox secret={secret} />
        {maySend && <ExampleTabs apiKey={secret} />}
        {created.kind === "publishable" && (
          <CodeBlock
            label="Count page views: paste this into the head of each page"
            code={websiteLine(secret)}
            copyLabel="Copy line"
          />
        )}
        {example && <CodeBlock {...example} />}
        {(maySend || created.kind === "publishable") && <ArrivalNote project={project} />}
      </div>
      <DialogButtons>
        <Button variant="solid" onClick={close}>
          Done
        </Button>
      </DialogButtons>
    </Dialog>
  );
}

type Example = { label: string; code: string; copyLabel: string };

/** An example for keys that can't send from a server: for a web page, or of reading. */
function exampleOf({ kind, scopes }: Key, secret: string): Example | null {
  if (kind === "publishable")
    return { label: "Or send events of your own", code: pageCode(secret), copyLabel: "Copy code" };
  if (!scopes.includes("read")) return null;
  const code = `curl --fail-with-body -H "X-API-KEY: ${secret}" "${location.origin}/api/events?limit=10"`;
  return { label: "Try it in a terminal", copyLabel: "Copy command", code };
}

/** JavaScript that sends an event, even while the page is being closed. */
function pageCode(secret: string): string {
  return `fetch("${location.origin}/api/events", {
  method: "POST",
  keepalive: true,
  headers: { "x-api-key": "${secret}", "content-type": "application/json" },
  body: JSON.stringify({ channel: "pages", name: "Page viewed", tags: { path: location.pathname } }),
});`;
}
