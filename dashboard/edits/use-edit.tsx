import { type QueryKey, useMutation } from "@tanstack/react-query";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import type { LastChange } from "../../server/core/problems.ts";
import { ApiError } from "../api.ts";
import { lazyPart } from "../components/lazy-part.tsx";
import { queries, refresh } from "../queries.ts";
import { OverlayBoundary } from "../shell/overlays.tsx";
import type { ConflictDialogProps } from "./conflict-dialog.tsx";
import { type Choices, type Comparison, choicesOf, type Difference, isSame } from "./differences.ts";
import { loadDraft, removeDraft, saveDraft } from "./drafts.ts";
import type { GoneDialogProps } from "./gone-dialog.tsx";

const ConflictDialog = lazyPart<ConflictDialogProps>(
  async () => (await import("./conflict-dialog.tsx")).default,
);
const GoneDialog = lazyPart<GoneDialogProps>(async () => (await import("./gone-dialog.tsx")).default);

export type EditOptions<Thing, Form, Result> = {
  /** The current thing. The form follows it until something is entered, and then keeps its own starting point. */
  thing: Thing;
  /** The noun for the edited thing: "rule". */
  what: string;
  /** Only its owner edits it: the other one is another tab or browser of theirs. */
  isOwn?: boolean;
  formOf: (thing: Thing) => Form;
  compare: Comparison<Form>;
  /** Sends what differs from what editing began with, and its version. */
  save: (form: Form, base: Thing) => Promise<Result>;
  /** The queries that show it. */
  keys: readonly QueryKey[];
  saved?: (result: Result) => void;
  /** The problem that says that it was deleted, and what creates it again. */
  gone?: { code: string; recreate?: (form: Form, base: Thing) => Promise<Result> };
  /** A single value: what others have changed elsewhere needs no question. */
  isSingle?: boolean;
  /** Nothing is typed, and nothing stays if it can't be saved: calls this with the error, unless that is a question. */
  failed?: (error: unknown) => void;
  /** The key under which unsaved changes survive a reload. */
  draft?: string;
};

type Edited<Thing, Form> = { base: Thing; form: Form };
type Attempt<Thing, Form> = Edited<Thing, Form> & { recreates: boolean };
type Conflict<Thing, Form> = Edited<Thing, Form> & {
  change: LastChange | undefined;
  /** Null: it was deleted. */
  theirs: { thing: Thing; differences: Difference[] } | null;
};

/**
 * A form for something that others can edit too. If there is another version by now, it shows both and asks what to
 * keep; if it was deleted, it offers to create it again. Nothing that was entered is lost.
 *
 * Invariant: the dashboard sends the version that editing began with. Checked by `server/e2e/pages-conflicts.test.ts`.
 */
export function useEdit<Thing extends { version: string }, Form, Result = unknown>(
  options: EditOptions<Thing, Form, Result>,
) {
  const { thing, formOf, compare, gone, draft, isSingle = false, failed } = options;
  const [edited, setEdited] = useState<Edited<Thing, Form> | null>(() => draftOf(draft));
  const [conflict, setConflict] = useState<Conflict<Thing, Form> | null>(null);
  const [recreates, setRecreates] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the same thing makes the same form
  const untouched = useMemo(() => formOf(thing), [thing]);
  const form = edited?.form ?? untouched;
  const base = edited?.base ?? thing;

  useEffect(() => {
    if (draft === undefined) return;
    if (edited) saveDraft(draft, edited.base, edited.form);
    else removeDraft(draft);
  }, [draft, edited]);

  async function attempt({ base, form, recreates }: Attempt<Thing, Form>): Promise<Result> {
    try {
      return await (recreates ? gone!.recreate! : options.save)(form, base);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const { code, change } = error;
      if (code === gone?.code) ask({ base, form, change, theirs: null });
      if (code !== "changed-meanwhile") throw error;
      const current = error.current as Thing;
      const differences = compare.differences(formOf(base), form, formOf(current));
      const isSettled = differences.every(
        ({ changedBy }) => changedBy === "mine" || (isSingle && changedBy === "theirs"),
      );
      if (!isSettled) {
        ask({ base, form, change, theirs: { thing: current, differences } });
        throw error;
      }
      const merged = compare.merge(form, formOf(current), choicesOf(differences));
      setEdited({ base: current, form: merged });
      return attempt({ base: current, form: merged, recreates: false });
    }
  }

  function ask(asked: Conflict<Thing, Form>): void {
    setEdited({ base: asked.base, form: asked.form });
    setConflict(asked);
    for (const queryKey of options.keys) void queries.invalidateQueries({ queryKey });
  }

  const mutation = useMutation({
    mutationFn: attempt,
    async onSuccess(result) {
      if (draft !== undefined) removeDraft(draft);
      await refresh(...options.keys);
      options.saved?.(result);
      setEdited(null);
    },
    onError(error) {
      const { code } = error as Partial<ApiError>;
      if (!failed || code === "changed-meanwhile" || code === gone?.code) return;
      failed(error);
      discard();
    },
  });

  /** Discards the entered values. */
  function discard(): void {
    setConflict(null);
    setEdited(null);
    if (draft !== undefined) removeDraft(draft);
    mutation.reset();
  }

  function resolve(choices: Choices): void {
    const { form, theirs } = conflict!;
    const merged = { base: theirs!.thing, form: compare.merge(form, formOf(theirs!.thing), choices) };
    setConflict(null);
    setEdited(merged);
    mutation.mutate({ ...merged, recreates: false });
  }

  function back(): void {
    setConflict(null);
    if (failed) discard();
  }

  const about = conflict && {
    what: options.what,
    isOwn: options.isOwn ?? false,
    change: conflict.change,
    back,
  };
  const dialog: ReactNode = conflict && about && (
    <OverlayBoundary close={back}>
      {conflict.theirs ? (
        <ConflictDialog {...about} differences={conflict.theirs.differences} resolve={resolve} />
      ) : (
        <GoneDialog
          {...about}
          {...(gone?.recreate && {
            recreate() {
              setConflict(null);
              setRecreates(true);
              mutation.mutate({ ...conflict, recreates: true });
            },
          })}
        />
      )}
    </OverlayBoundary>
  );

  return {
    form,
    /** The thing as it was when editing began. */
    base,
    isChanged: edited !== null,
    change(next: Form) {
      setEdited(isSame(next, formOf(base)) ? null : { base, form: next });
    },
    /** Saves the form, or another one in its place. */
    submit: (submitted = form) => mutation.mutate({ base, form: submitted, recreates }),
    discard,
    error: mutation.error,
    isPending: mutation.isPending,
    isSuccess: mutation.isSuccess,
    /** Asks what to keep. It has to be rendered. */
    dialog,
  };
}

function draftOf<Thing, Form>(key: string | undefined): Edited<Thing, Form> | null {
  const draft = key === undefined ? null : loadDraft<Thing, Form>(key);
  return draft?.base ? { base: draft.base, form: draft.form } : null;
}
