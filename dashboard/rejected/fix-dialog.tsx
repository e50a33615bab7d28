import { type FormEvent, useId, useState } from "react";
import type { RejectedEvent } from "../../server/wire/rejected-event.ts";
import { ApiError, sentence } from "../api.ts";
import { Alert } from "../components/ui/alert.tsx";
import { Button } from "../components/ui/button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { reasonsIn } from "./reasons.ts";
import { useResend } from "./rejected.ts";

/** What was typed into a dialog that was closed, by the rejected event's id. */
const drafts = new Map<string, string>();

/** Shows an event as it was sent, to fix it and send it again. */
export function FixDialog({ rejected, close }: { rejected: RejectedEvent; close: () => void }) {
  const id = useId();
  const sent = laidOut(rejected.body);
  const [body, setBody] = useState(drafts.get(rejected.id) ?? sent);
  const [fault, setFault] = useState<string | null>(null);
  const resend = useResend(useProjectSlug());
  const reasons = reasonsOf(fault, resend.error) ?? reasonsIn(rejected.problem);

  function write(text: string) {
    setBody(text);
    if (text === sent) drafts.delete(rejected.id);
    else drafts.set(rejected.id, text);
  }

  function submit(submitted: FormEvent) {
    submitted.preventDefault();
    let event: unknown;
    try {
      event = JSON.parse(body);
    } catch (error) {
      setFault(`This isn't valid JSON: ${(error as Error).message}`);
      return;
    }
    setFault(null);
    const onSuccess = () => {
      drafts.delete(rejected.id);
      close();
    };
    resend.mutate({ id: rejected.id, event }, { onSuccess });
  }

  return (
    <Dialog open onOpenChange={close} title="Fix and resend" wide>
      <form onSubmit={submit} className="flex flex-col gap-3">
        {rejected.cut && <Alert>The body was too long to keep in full. This is its beginning.</Alert>}
        <Alert>
          {reasons.map((reason) => (
            <span key={reason} className="block">
              {reason}
            </span>
          ))}
        </Alert>
        <label htmlFor={id} className="font-medium text-sm">
          Event (JSON)
        </label>
        <textarea
          id={id}
          value={body}
          onChange={(change) => write(change.target.value)}
          spellCheck={false}
          autoCapitalize="none"
          autoComplete="off"
          rows={Math.min(18, body.split("\n").length + 1)}
          className="w-full resize-y rounded-md border border-line-strong bg-surface px-3 py-2 font-mono text-ink text-xs leading-5 focus-visible:outline-offset-0 max-md:text-lg"
        />
        <DialogButtons>
          {body !== sent && (
            <Button look="ghost" className="mr-auto" onClick={() => write(sent)}>
              Undo changes
            </Button>
          )}
          <Button look="ghost" onClick={close}>
            Cancel
          </Button>
          <Button type="submit" look="solid" busy={resend.isPending}>
            Resend
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

/** What was wrong with the last attempt; null before there was one. */
function reasonsOf(fault: string | null, error: unknown): string[] | null {
  if (fault) return [fault];
  if (error instanceof ApiError) return reasonsIn({ detail: error.detail, errors: error.faults });
  return error ? [sentence(error)] : null;
}

function laidOut(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    // What was sent was not JSON: it is shown as it is.
    return body;
  }
}
