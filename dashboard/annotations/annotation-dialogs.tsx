import type { Annotation } from "../../server/schemas/annotation.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { byParts } from "../edits/differences.ts";
import { type ItemKind, useDeletedItem, useEditedItem, useNewItem } from "../edits/item-forms.ts";
import { AnnotationFields } from "./annotation-fields.tsx";
import {
  type AnnotationForm,
  annotationOf,
  annotationParts,
  formOf,
  type NotePlace,
  newAnnotationForm,
} from "./annotation-form.ts";
import { keysOfAnnotations } from "./annotations.ts";

export type NewAnnotationProps = {
  close: () => void;
  /** Asks for a note there. */
  note?: NotePlace;
};

const kind: ItemKind<Annotation, AnnotationForm> = {
  noun: "annotation",
  path: "/api/annotations",
  formOf,
  bodyOf: annotationOf,
  newBodyOf: ({ type }) => ({ type }),
  keys: keysOfAnnotations,
};

export function NewAnnotationDialog({ close, note }: NewAnnotationProps) {
  const given = note && newAnnotationForm(note);
  const { form, onChange, ...dialog } = useNewItem(kind, { initial: newAnnotationForm, given, close });
  return (
    <FormDialog title={note ? "New note" : "New annotation"} action="Create" {...dialog}>
      <AnnotationFields form={form} onChange={onChange} isNew={note === undefined} />
    </FormDialog>
  );
}

type Props = { annotation: Annotation; close: () => void };

export function EditAnnotationDialog({ annotation, close }: Props) {
  const { props, conflict } = useEditedItem(kind, {
    item: annotation,
    compare: byParts(annotationParts),
    close,
  });
  const { form, onChange, ...dialog } = props;
  return (
    <>
      <FormDialog title="Edit annotation" action="Save" {...dialog}>
        <AnnotationFields form={form} onChange={onChange} isNew={false} />
      </FormDialog>
      {conflict}
    </>
  );
}

export function DeleteAnnotationDialog({ annotation, close }: Props) {
  const remove = useDeletedItem(kind, { item: annotation, close });
  return (
    <ConfirmDialog title="Delete this annotation?" action="Delete" mutation={remove} close={close}>
      Charts no longer show <b className="hostile font-semibold text-ink">{annotation.name}</b>.
      {annotation.type === "events" && " Its events stay."}
    </ConfirmDialog>
  );
}
