import { useEffect, useState } from "react";

/** What was typed and not saved, by the field. It is there again when the page is left and opened again. */
const drafts = new Map<string, string>();

/**
 * The text of a field that is saved by itself. What is typed stays until it is saved or undone, also while another page
 * is open and if the saved value changes meanwhile. Leaving the dashboard with it asks first.
 *
 * @param id - tells the field from all others
 * @param saved - the saved value, as the field shows it
 */
export function useDraft(id: string, saved: string) {
  const [draft, setDraft] = useState(() => drafts.get(id));
  const hasDraft = draft !== undefined;

  useEffect(() => {
    if (!hasDraft) return;
    const confirmLeaving = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", confirmLeaving);
    return () => window.removeEventListener("beforeunload", confirmLeaving);
  }, [hasDraft]);

  function keep(text: string | undefined) {
    if (text === undefined) drafts.delete(id);
    else drafts.set(id, text);
    setDraft(text);
  }

  return {
    text: draft ?? saved,
    setText: (text: string) => keep(text === saved ? undefined : text),
    /** Whether there is something to save or to undo. */
    changed: hasDraft,
    /** Shows the saved value again. */
    undo: () => keep(undefined),
    /** Call it once something is saved, with whether a text is that. Another one was typed since then, and stays. */
    onSaved(isSaved: (text: string) => boolean) {
      const typed = drafts.get(id);
      if (typed !== undefined && isSaved(typed)) keep(undefined);
    },
  };
}
