import { useMutation, useQuery } from "@tanstack/react-query";
import { Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { limits } from "../../server/core/limits.ts";
import type { UserNote } from "../../server/schemas/user-note.ts";
import { useMe } from "../account/me.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button } from "../components/ui/button.tsx";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { TextField } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import type { Comparison } from "../edits/differences.ts";
import { useEdit } from "../edits/use-edit.tsx";
import { useCan } from "../projects/can.ts";
import { refresh } from "../queries.ts";
import { changeNote, deleteNote, notesQuery, writeNote } from "./users.ts";

type Props = { project: string; userId: string };
type NoteProps = Props & { note: UserNote; close: () => void };

/** What members of the project wrote about a user. */
export function Notes({ project, userId }: Props) {
  const can = useCan();
  const { account } = useMe();
  const { data, error } = useQuery(notesQuery(project, userId));
  const notes = data ?? [];
  const [isWriting, setWriting] = useState(false);
  const [editing, setEditing] = useState<UserNote | null>(null);
  const [deleting, setDeleting] = useState<UserNote | null>(null);
  const mayWrite = can("users:note");
  if (notes.length === 0 && (!mayWrite || (!data && !error))) return null;
  return (
    <section aria-label="Notes">
      <div className="mb-1 flex h-8 items-center justify-between max-md:h-10">
        <h2 className="font-semibold text-sm">Notes</h2>
        {mayWrite && (
          <Button variant="ghost" onClick={() => setWriting(true)}>
            <Plus aria-hidden className="size-4" />
            Write
          </Button>
        )}
      </div>
      {error && <p className="text-danger text-sm">{error.message}</p>}
      {data?.length === 0 && (
        <p className="text-muted text-sm">
          None yet. Write what the next one who helps this user should know.
        </p>
      )}
      <ul className="text-sm">
        {notes.map((note) => {
          const isOwn = note.author?.id === account.id;
          return (
            <li key={note.id} className="flex items-start gap-2 border-line border-b py-2 last:border-b-0">
              <div className="min-w-0 flex-1">
                <p className="hostile whitespace-pre-wrap">{note.text}</p>
                <p className="mt-0.5 text-faint text-xs">
                  <bdi className="hostile">{note.author?.name ?? "A former member"}</bdi>
                  {" · "}
                  <RelativeTime at={note.createdAt} form="long" />
                  {note.updatedAt !== note.createdAt && " · edited"}
                </p>
              </div>
              <RowMenu
                name="this note"
                actions={[
                  isOwn && mayWrite && { label: "Edit…", icon: Pencil, onSelect: () => setEditing(note) },
                  ((isOwn && mayWrite) || can("users:erase")) && {
                    label: "Delete…",
                    icon: Trash2,
                    danger: true,
                    onSelect: () => setDeleting(note),
                  },
                ]}
              />
            </li>
          );
        })}
      </ul>
      {isWriting && <NewNoteDialog project={project} userId={userId} close={() => setWriting(false)} />}
      {editing && (
        <EditNoteDialog project={project} userId={userId} note={editing} close={() => setEditing(null)} />
      )}
      {deleting && (
        <DeleteNoteDialog project={project} userId={userId} note={deleting} close={() => setDeleting(null)} />
      )}
    </section>
  );
}

function NewNoteDialog({ project, userId, close }: Props & { close: () => void }) {
  const [text, setText] = useState("");
  const write = useMutation({
    mutationFn: () => writeNote(project, userId, text),
    async onSuccess() {
      close();
      await refresh(notesQuery(project, userId).queryKey);
    },
  });
  return (
    <FormDialog
      title="Note about this user"
      description="All members of the project can read it. It is erased with the user."
      error={write.error}
      action="Save"
      busy={write.isPending}
      submit={() => write.mutate()}
      close={close}
    >
      <NoteField text={text} onChange={setText} />
    </FormDialog>
  );
}

/** A note has one text, so another tab's edit is shown as a whole. */
const comparison: Comparison<string> = {
  differences: (before, mine, theirs) =>
    mine === theirs ? [] : [{ key: "text", label: "Text", changedBy: "both", before, mine, theirs }],
  merge: (mine, theirs, choices) => (choices.text === "theirs" ? theirs : mine),
};

function EditNoteDialog({ project, userId, note, close }: NoteProps) {
  const edit = useEdit<UserNote, string>({
    thing: note,
    what: "note",
    isOwn: true,
    formOf: ({ text }) => text,
    compare: comparison,
    keys: [notesQuery(project, userId).queryKey],
    save: (text, base) => changeNote(project, userId, base, text),
    saved: close,
    gone: { code: "note-unknown", recreate: (text) => writeNote(project, userId, text) },
  });
  return (
    <>
      <FormDialog
        title="Edit the note"
        error={edit.error}
        action="Save"
        busy={edit.isPending}
        submit={() => edit.submit()}
        close={close}
      >
        <NoteField text={edit.form} onChange={edit.change} />
      </FormDialog>
      {edit.dialog}
    </>
  );
}

function NoteField({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  return (
    <TextField
      label="Text"
      rows={4}
      value={text}
      onChange={(event) => onChange(event.target.value)}
      required
      maxLength={limits.userNoteCharacters}
      member="text"
    />
  );
}

function DeleteNoteDialog({ project, userId, note, close }: NoteProps) {
  const remove = useMutation({
    mutationFn: () => deleteNote(project, userId, note),
    async onSuccess() {
      close();
      await refresh(notesQuery(project, userId).queryKey);
    },
  });
  return (
    <ConfirmDialog title="Delete this note?" action="Delete" mutation={remove} close={close}>
      {note.text.length > 200 ? `${note.text.slice(0, 200)}…` : note.text}
    </ConfirmDialog>
  );
}
