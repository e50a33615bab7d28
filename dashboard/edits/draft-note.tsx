import { FileClock } from "lucide-react";
import { useState } from "react";
import { useMe } from "../account/me.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button } from "../components/ui/button.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { type Draft, draftKeys, loadDraft, removeDraft, saveDraft } from "./drafts.ts";

/**
 * The storage key of unsaved changes, one for each account and project.
 *
 * @param id - empty for something new
 */
export function useDraftKey(kind: string): (id: string) => string {
  const project = useProjectSlug();
  const { account } = useMe();
  return (id) => `${account.id}.${project}.${kind}.${id}`;
}

/** The form of something new. What was entered outlasts a reload. @param given - what it begins with in any case */
export function useNewForm<Form>(key: string, initial: () => Form, given?: Form) {
  const [form, setForm] = useState<Form>(() => given ?? loadDraft<never, Form>(key)?.form ?? initial());
  return {
    form,
    change(next: Form) {
      setForm(next);
      saveDraft(key, null, next);
    },
    discard: () => removeDraft(key),
  };
}

/** The unsaved changes that a reload left behind. */
export function useDrafts<Thing, Form>(kind: string) {
  const start = useDraftKey(kind)("");
  const read = () =>
    draftKeys(start).flatMap((key) => {
      const draft = loadDraft<Thing, Form>(key);
      return draft ? [{ key, ...draft }] : [];
    });
  const [drafts, setDrafts] = useState(read);
  return {
    drafts,
    /** Reads them again, after one was saved or discarded. */
    update: () => setDrafts(read()),
    discard(key: string) {
      removeDraft(key);
      setDrafts(read());
    },
  };
}

type Props = {
  /** The thing with unsaved changes: “the rule Failed payments”. */
  of: string;
  draft: Pick<Draft<unknown, unknown>, "at">;
  resume: () => void;
  discard: () => void;
};

/** Says that there are unsaved changes, and offers to go on with them. */
export function DraftNote({ of, draft, resume, discard }: Props) {
  return (
    <div
      role="status"
      className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-md border border-line-strong bg-raised px-3 py-2 text-sm"
    >
      <FileClock aria-hidden className="size-4 shrink-0 text-muted" />
      <p className="hostile min-w-0 flex-1 max-md:basis-[70%]">
        Your changes of {of} weren't saved. You made them <RelativeTime at={draft.at} form="long" />.
      </p>
      <div className="flex gap-2">
        <Button variant="ghost" onClick={discard}>
          Discard
        </Button>
        <Button onClick={resume}>Continue</Button>
      </div>
    </div>
  );
}
