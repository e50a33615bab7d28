import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { type FormEvent, useDeferredValue, useState } from "react";
import { applyFixes, suggestFixes } from "../../server/event/apply-fixes.ts";
import type { EventFix } from "../../server/event/event-fix.ts";
import type { RejectedEvent, RejectedGroup } from "../../server/schemas/rejected-event.ts";
import { errorMessage } from "../api.ts";
import { countOf } from "../components/counts.ts";
import { formatNumber } from "../components/locale.ts";
import { Button } from "../components/ui/button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { Choice } from "../components/ui/field.tsx";
import { Alert, Skeleton } from "../components/ui/states.tsx";
import { toast } from "../shell/toasts.tsx";
import { FixList, isComplete } from "./fix-list.tsx";
import {
  checkGroup,
  parsedBody,
  type Replay,
  type ReplayProgress,
  rejectedQuery,
  useReplayGroup,
} from "./rejected.ts";

type Props = { project: string; group: RejectedGroup; close: () => void };

/** Applies the same fixes to all events of a group and resends them. */
export function FixGroupDialog({ project, group, close }: Props) {
  const { data, error } = useInfiniteQuery(rejectedQuery(project, group));
  const example = data?.pages[0]?.rejected[0];
  return (
    <Dialog
      open
      wide
      onOpenChange={close}
      title={`Fix and resend ${countOf(group.count, "event")}`}
      description={<span className="hostile block">{group.reason}</span>}
    >
      {error ? (
        <Alert>{errorMessage(error)}</Alert>
      ) : !data ? (
        <Skeleton className="h-40 rounded-md" />
      ) : !example ? (
        <p className="text-muted text-sm">These events are gone.</p>
      ) : (
        <FixForm project={project} group={group} example={example} close={close} />
      )}
    </Dialog>
  );
}

function FixForm({ project, group, example, close }: Props & { example: RejectedEvent }) {
  const event = parsedBody(example);
  const [fixes, setFixes] = useState<EventFix[]>(() => initialFixes(example, event));
  const [keepTime, setKeepTime] = useState(true);
  const [progress, setProgress] = useState<ReplayProgress | null>(null);
  const replay: Replay = { fixes: fixes.filter(isComplete), keepTime };
  const deferred = useDeferredValue(JSON.stringify(replay));
  const check = useQuery({
    queryKey: ["rejected", project, "check", group, deferred],
    queryFn: () => checkGroup(project, group, JSON.parse(deferred) as Replay),
    placeholderData: keepPreviousData,
    retry: false,
  });
  const resend = useReplayGroup(project, group, setProgress, ({ resent, failed }) => {
    toast({
      title: `Resent ${countOf(resent, "event")}`,
      ...(failed > 0 && { description: `Still invalid: ${countOf(failed, "event")}.` }),
    });
    close();
  });
  const valid = check.data?.resent ?? 0;
  const isUnfinished = fixes.some((fix) => !isComplete(fix));

  function submit(submitted: FormEvent) {
    submitted.preventDefault();
    resend.mutate(replay);
  }

  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      {resend.error && (
        <Alert>
          {progress && `${countOf(progress.resent, "event")} resent, then: `}
          {errorMessage(resend.error)}
        </Alert>
      )}
      <FixList project={project} fixes={fixes} members={membersOf(event)} change={setFixes} />
      <Preview before={event} body={example.body} after={applyFixes(event, replay.fixes)} />
      <Choice
        type="checkbox"
        name="keepTime"
        label="Keep the time they were sent"
        hint="Otherwise they get the current time. Events older than an hour notify nobody."
        checked={keepTime}
        onChange={setKeepTime}
      />
      <p role="status" className="hostile text-sm">
        {check.error ? (
          <span className="text-danger">{errorMessage(check.error)}</span>
        ) : isUnfinished ? (
          <span className="text-muted">Fill in every fix, or remove it.</span>
        ) : !check.data ? (
          <span className="text-muted">Checking…</span>
        ) : (
          <>
            <span className={valid > 0 ? "text-good" : "text-danger"}>
              These fixes make {formatNumber(valid)} of {countOf(valid + check.data.failed, "event")} valid.
            </span>
            {check.data.failures[0] && (
              <span className="block text-muted text-xs">Still invalid: {check.data.failures[0].detail}</span>
            )}
          </>
        )}
      </p>
      <DialogButtons>
        <Button variant="ghost" onClick={close}>
          Cancel
        </Button>
        <Button
          type="submit"
          variant="solid"
          busy={resend.isPending}
          disabled={valid === 0 || check.isPlaceholderData || isUnfinished}
        >
          {resend.isPending && progress
            ? `${formatNumber(progress.resent + progress.failed)} of ${formatNumber(group.count)}`
            : `Resend ${countOf(valid, "event")}`}
        </Button>
      </DialogButtons>
    </form>
  );
}

/** An unknown channel can't be guessed from the event, but it has to be another one. */
function initialFixes({ problem }: RejectedEvent, event: unknown): EventFix[] {
  const suggested = suggestFixes(event);
  const isChannelUnknown = problem.errors?.some(({ pointer }) => pointer === "/channel");
  return isChannelUnknown ? [...suggested, { type: "set-channel", channel: "" }] : suggested;
}

function membersOf(event: unknown): string[] {
  return typeof event === "object" && event !== null ? Object.keys(event) : [];
}

/** The newest event of the group, before and after the fixes. */
function Preview({ before, body, after }: { before: unknown; body: string; after: unknown }) {
  const [sent, fixed] = before === undefined ? [body, null] : [pretty(before), pretty(after)];
  const isChanged = fixed !== null && fixed !== sent;
  return (
    <div className={isChanged ? "grid gap-3 sm:grid-cols-2" : undefined}>
      <Json label={isChanged ? "The newest, as sent" : "The newest event"} text={sent} />
      {isChanged && <Json label="With the fixes" text={fixed} />}
    </div>
  );
}

function Json({ label, text }: { label: string; text: string }) {
  return (
    <div className="flex min-w-0 flex-col gap-1.5">
      <p className="font-medium text-sm">{label}</p>
      <section
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable box must be reachable by keyboard
        tabIndex={0}
        className="max-h-44 flex-1 overflow-auto rounded-md border border-line bg-canvas focus-visible:outline-offset-[-2px]"
      >
        <pre className="hostile whitespace-pre-wrap px-3 py-2 font-mono text-muted text-xs leading-5">
          {text.slice(0, 4_000)}
        </pre>
      </section>
    </div>
  );
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
