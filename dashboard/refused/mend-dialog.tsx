import { type FormEvent, useId, useState } from "react";
import type { RefusedEvent } from "../../server/wire/refused-event.ts";
import { sentence } from "../api.ts";
import { Alert } from "../components/ui/alert.tsx";
import { Button } from "../components/ui/button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { useReplay } from "./refused.ts";

/** Shows an event as it was sent, to be mended and recorded. */
export function MendDialog({ refused, close }: { refused: RefusedEvent; close: () => void }) {
  const id = useId();
  const [body, setBody] = useState(() => laidOut(refused.body));
  const [fault, setFault] = useState<string | null>(null);
  const replay = useReplay(useProjectSlug());
  const problem = fault ?? (replay.error ? sentence(replay.error) : null);

  function submit(submitted: FormEvent) {
    submitted.preventDefault();
    let event: unknown;
    try {
      event = JSON.parse(body);
    } catch (error) {
      setFault(`This is not valid JSON: ${(error as Error).message}`);
      return;
    }
    setFault(null);
    replay.mutate({ id: refused.id, event }, { onSuccess: close });
  }

  return (
    <Dialog open onOpenChange={close} title="Mend the event" description={refused.problem.detail} wide>
      <form onSubmit={submit} className="flex flex-col gap-3">
        {refused.cut && <Alert>The body was too long to be kept whole: this is its beginning.</Alert>}
        {problem && <Alert>{problem}</Alert>}
        <label htmlFor={id} className="font-medium text-sm">
          The event, as JSON
        </label>
        <textarea
          id={id}
          value={body}
          onChange={(change) => setBody(change.target.value)}
          spellCheck={false}
          autoCapitalize="none"
          autoComplete="off"
          rows={Math.min(18, body.split("\n").length + 1)}
          className="w-full resize-y rounded-md border border-line-strong bg-surface px-3 py-2 font-mono text-ink text-xs leading-5 focus-visible:outline-offset-0 max-md:text-lg"
        />
        <DialogButtons>
          <Button look="ghost" onClick={close}>
            Cancel
          </Button>
          <Button type="submit" look="solid" busy={replay.isPending}>
            Record it
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

function laidOut(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    // What was sent was not JSON: it is shown as it is.
    return body;
  }
}
