import { useId, useState } from "react";
import type { RejectedEvent } from "../../server/schemas/rejected-event.ts";
import { ApiError, errorMessage } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { Alert } from "../components/ui/states.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { parsedBody, reasonsIn, useResend } from "./rejected.ts";

/** Unsent changes of closed dialogs, by the rejected event's id. */
const drafts = new Map<string, string>();

/** Shows a rejected event as it was sent, to fix and resend it. */
export function FixDialog({ rejected, close }: { rejected: RejectedEvent; close: () => void }) {
  const id = useId();
  const original = prettyPrint(rejected.body);
  const [body, setBody] = useState(drafts.get(rejected.id) ?? original);
  const [parseError, setParseError] = useState<string | null>(null);
  const resend = useResend(useProjectSlug());
  const reasons = reasonsForAttempt(parseError, resend.error) ?? reasonsIn(rejected.problem);

  function saveDraft(text: string) {
    setBody(text);
    if (text === original) drafts.delete(rejected.id);
    else drafts.set(rejected.id, text);
  }

  function submit() {
    let event: unknown;
    try {
      event = JSON.parse(body);
    } catch (error) {
      setParseError(`This isn't valid JSON: ${(error as Error).message}`);
      return;
    }
    setParseError(null);
    const onSuccess = () => {
      drafts.delete(rejected.id);
      close();
    };
    resend.mutate({ id: rejected.id, event }, { onSuccess });
  }

  return (
    <FormDialog
      title={parsedBody(rejected) === undefined ? "Edit and resend" : "Fix and resend"}
      wide
      action="Resend"
      busy={resend.isPending}
      submit={submit}
      close={close}
      aside={
        body !== original && (
          <Button variant="ghost" onClick={() => saveDraft(original)}>
            Undo changes
          </Button>
        )
      }
    >
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
        onChange={(change) => saveDraft(change.target.value)}
        spellCheck={false}
        autoCapitalize="none"
        autoComplete="off"
        rows={Math.min(18, body.split("\n").length + 1)}
        className="w-full resize-y rounded-md border border-line-strong bg-surface px-3 py-2 font-mono text-ink text-xs leading-5 focus-visible:outline-offset-0 max-md:text-lg"
      />
    </FormDialog>
  );
}

/** The problems of the last attempt; null if there was none. */
function reasonsForAttempt(parseError: string | null, error: unknown): string[] | null {
  if (parseError) return [parseError];
  if (error instanceof ApiError) return reasonsIn({ detail: error.detail, errors: error.errors });
  return error ? [errorMessage(error)] : null;
}

function prettyPrint(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    // The body is not JSON: show it unchanged.
    return body;
  }
}
