import { useMutation } from "@tanstack/react-query";
import type { Silence } from "../../server/schemas/silence.ts";
import { api } from "../api.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { byParts, changedMembers } from "../edits/differences.ts";
import { useDraftKey, useNewForm } from "../edits/draft-note.tsx";
import { useEdit } from "../edits/use-edit.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { SilenceFields } from "./silence-fields.tsx";
import { formOf, newSilenceForm, type SilenceForm, silenceOf, silenceParts } from "./silence-form.ts";
import { comingSilencesQuery, refreshSilences } from "./silences.ts";

/** Asks for a silence that begins now or later. */
export function NewSilenceDialog({ close }: { close: () => void }) {
  const project = useProjectSlug();
  const { form, change, discard } = useNewForm(useDraftKey("silence")(""), newSilenceForm);
  const create = useMutation({
    mutationFn: () => api("/api/silences", { method: "POST", query: { project }, body: silenceOf(form) }),
    onSuccess() {
      void refreshSilences(project);
      discard();
      close();
    },
  });
  return (
    <SilenceDialog
      title="New silence"
      form={form}
      onChange={change}
      error={create.error}
      busy={create.isPending}
      submit={() => create.mutate()}
      action={form.isLater ? "Plan silence" : "Silence now"}
      close={() => {
        discard();
        close();
      }}
    />
  );
}

export function EditSilenceDialog({ silence, close }: { silence: Silence; close: () => void }) {
  const project = useProjectSlug();
  const { form, change, error, isPending, submit, discard, dialog } = useEdit<Silence, SilenceForm>({
    thing: silence,
    what: "silence",
    formOf,
    compare: byParts(silenceParts),
    keys: [comingSilencesQuery(project).queryKey],
    draft: useDraftKey("silence")(silence.id),
    async save(form, base) {
      const body = changedMembers(silenceOf(form), silenceOf(formOf(base)));
      if (Object.keys(body).length === 0) return;
      const { version } = base;
      await api(`/api/silences/${silence.id}`, { method: "PATCH", query: { project }, body, version });
    },
    saved() {
      void refreshSilences(project);
      close();
    },
    gone: {
      code: "silence-unknown",
      recreate: (form) => api("/api/silences", { method: "POST", query: { project }, body: silenceOf(form) }),
    },
  });
  return (
    <>
      <SilenceDialog
        title="Edit silence"
        form={form}
        onChange={change}
        hasBegun={silence.state === "active"}
        isNew={false}
        error={error}
        busy={isPending}
        submit={() => submit()}
        action="Save"
        close={() => {
          discard();
          close();
        }}
      />
      {dialog}
    </>
  );
}

export function DeleteSilenceDialog({ silence, close }: { silence: Silence; close: () => void }) {
  const project = useProjectSlug();
  const remove = useMutation({
    mutationFn: () => api(`/api/silences/${silence.id}`, { method: "DELETE", query: { project } }),
    onSuccess() {
      void refreshSilences(project);
      close();
    },
  });
  return (
    <ConfirmDialog title="Delete this silence?" action="Delete" mutation={remove} close={close}>
      <b className="font-semibold text-ink">{silence.reason}</b> will not begin, and everything notifies as
      ever.
    </ConfirmDialog>
  );
}

type Props = {
  title: string;
  form: SilenceForm;
  onChange: (form: SilenceForm) => void;
  /** Its beginning can't be changed any more. */
  hasBegun?: boolean;
  isNew?: boolean;
  error: unknown;
  busy: boolean;
  submit: () => void;
  /** The submit button's label. */
  action: string;
  close: () => void;
};

function SilenceDialog({ form, onChange, hasBegun = false, isNew = true, ...dialog }: Props) {
  return (
    <FormDialog wide {...dialog}>
      <SilenceFields form={form} onChange={onChange} hasBegun={hasBegun} isNew={isNew} />
    </FormDialog>
  );
}
