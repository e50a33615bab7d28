import { useMutation } from "@tanstack/react-query";
import type { Annotation } from "../../server/schemas/annotation.ts";
import { api } from "../api.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { byParts, changedMembers } from "../edits/differences.ts";
import { useDraftKey, useNewForm } from "../edits/draft-note.tsx";
import { useEdit } from "../edits/use-edit.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { AnnotationFields } from "./annotation-fields.tsx";
import {
  type AnnotationForm,
  annotationOf,
  annotationParts,
  formOf,
  type NotePlace,
  newAnnotationForm,
} from "./annotation-form.ts";
import { annotationsQuery, refreshAnnotations } from "./annotations.ts";

export type NewAnnotationProps = {
  close: () => void;
  /** Asks for a note there. */
  note?: NotePlace;
};

function createAnnotation(project: string, form: AnnotationForm) {
  const body = { type: form.type, ...annotationOf(form) };
  return api("/api/annotations", { method: "POST", query: { project }, body });
}

export function NewAnnotationDialog({ close, note }: NewAnnotationProps) {
  const project = useProjectSlug();
  const { form, change, discard } = useNewForm(
    useDraftKey("annotation")(""),
    newAnnotationForm,
    note && newAnnotationForm(note),
  );
  const create = useMutation({
    mutationFn: () => createAnnotation(project, form),
    onSuccess() {
      void refreshAnnotations(project);
      discard();
      close();
    },
  });
  return (
    <FormDialog
      title={note ? "New note" : "New annotation"}
      error={create.error}
      busy={create.isPending}
      submit={() => create.mutate()}
      action="Create"
      close={() => {
        discard();
        close();
      }}
    >
      <AnnotationFields form={form} onChange={change} isNew={note === undefined} />
    </FormDialog>
  );
}

export function EditAnnotationDialog({ annotation, close }: { annotation: Annotation; close: () => void }) {
  const project = useProjectSlug();
  const { form, change, error, isPending, submit, discard, dialog } = useEdit<Annotation, AnnotationForm>({
    thing: annotation,
    what: "annotation",
    formOf,
    compare: byParts(annotationParts),
    keys: [annotationsQuery(project).queryKey],
    draft: useDraftKey("annotation")(annotation.id),
    async save(form, base) {
      const body = changedMembers(annotationOf(form), annotationOf(formOf(base)));
      if (Object.keys(body).length === 0) return;
      const { version } = base;
      await api(`/api/annotations/${annotation.id}`, { method: "PATCH", query: { project }, body, version });
    },
    saved() {
      void refreshAnnotations(project);
      close();
    },
    gone: { code: "annotation-unknown", recreate: (form) => createAnnotation(project, form) },
  });
  return (
    <>
      <FormDialog
        title="Edit annotation"
        error={error}
        busy={isPending}
        submit={() => submit()}
        action="Save"
        close={() => {
          discard();
          close();
        }}
      >
        <AnnotationFields form={form} onChange={change} isNew={false} />
      </FormDialog>
      {dialog}
    </>
  );
}

export function DeleteAnnotationDialog({
  annotation: { id, name, type },
  close,
}: {
  annotation: Annotation;
  close: () => void;
}) {
  const project = useProjectSlug();
  const remove = useMutation({
    mutationFn: () => api(`/api/annotations/${id}`, { method: "DELETE", query: { project } }),
    onSuccess() {
      void refreshAnnotations(project);
      close();
    },
  });
  return (
    <ConfirmDialog title="Delete this annotation?" action="Delete" mutation={remove} close={close}>
      Charts no longer show <b className="hostile font-semibold text-ink">{name}</b>.
      {type === "events" && " Its events stay."}
    </ConfirmDialog>
  );
}
