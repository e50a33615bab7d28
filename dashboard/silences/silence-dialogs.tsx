import type { Silence } from "../../server/schemas/silence.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { byParts } from "../edits/differences.ts";
import {
  type FormProps,
  type ItemKind,
  useDeletedItem,
  useEditedItem,
  useNewItem,
} from "../edits/item-forms.ts";
import { SilenceFields } from "./silence-fields.tsx";
import { formOf, newSilenceForm, type SilenceForm, silenceOf, silenceParts } from "./silence-form.ts";
import { keysOfSilences } from "./silences.ts";

const kind: ItemKind<Silence, SilenceForm> = {
  noun: "silence",
  path: "/api/silences",
  formOf,
  bodyOf: silenceOf,
  keys: keysOfSilences,
};

/** Asks for a silence that begins now or later. */
export function NewSilenceDialog({ close }: { close: () => void }) {
  const dialog = useNewItem(kind, { initial: newSilenceForm, close });
  const action = dialog.form.isLater ? "Plan silence" : "Silence now";
  return <SilenceDialog title="New silence" action={action} {...dialog} />;
}

export function EditSilenceDialog({ silence, close }: { silence: Silence; close: () => void }) {
  const { props, conflict } = useEditedItem(kind, { item: silence, compare: byParts(silenceParts), close });
  return (
    <>
      <SilenceDialog
        title="Edit silence"
        action="Save"
        hasBegun={silence.state === "active"}
        isNew={false}
        {...props}
      />
      {conflict}
    </>
  );
}

export function DeleteSilenceDialog({ silence, close }: { silence: Silence; close: () => void }) {
  const remove = useDeletedItem(kind, { item: silence, close });
  return (
    <ConfirmDialog title="Delete this silence?" action="Delete" mutation={remove} close={close}>
      <b className="font-semibold text-ink">{silence.reason}</b> will not begin, and everything notifies as
      ever.
    </ConfirmDialog>
  );
}

/** `action` is the label of the button that submits. */
type Props = FormProps<SilenceForm> & {
  title: string;
  action: string;
  /** Its beginning can't be changed any more. */
  hasBegun?: boolean;
  isNew?: boolean;
};

function SilenceDialog({ form, onChange, hasBegun = false, isNew = true, ...dialog }: Props) {
  return (
    <FormDialog wide {...dialog}>
      <SilenceFields form={form} onChange={onChange} hasBegun={hasBegun} isNew={isNew} />
    </FormDialog>
  );
}
