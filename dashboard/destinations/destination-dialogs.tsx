import { type UseMutationResult, useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { limits } from "../../server/limits.ts";
import type { ProjectDestination } from "../../server/wire/destination.ts";
import { api } from "../api.ts";
import { Dialog } from "../components/ui/dialog.tsx";
import { Field } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { ErrorState, Skeleton } from "../components/ui/states.tsx";
import { refreshConnections } from "../connections/connections.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import {
  DestinationFields,
  type Entered,
  enteredOf,
  settingsChangeOf,
  settingsOf,
} from "./destination-fields.tsx";
import {
  type DestinationKind,
  destinationKindsQuery,
  kindHints,
  projectDestinationsQuery,
} from "./project-destinations.ts";
import { SigningSecretDialog } from "./signing-secret-dialog.tsx";

type Form = { name: string; entered: Entered };

/** Asks for a kind, then for its settings. */
export function AddDestinationDialog({ close }: { close: () => void }) {
  const [kind, setKind] = useState<DestinationKind | null>(null);
  return kind ? (
    <NewDestinationDialog kind={kind} back={() => setKind(null)} close={close} />
  ) : (
    <KindDialog choose={setKind} close={close} />
  );
}

function KindDialog({ choose, close }: { choose: (kind: DestinationKind) => void; close: () => void }) {
  const { data: kinds, error, refetch } = useQuery(destinationKindsQuery(useProjectSlug()));
  return (
    <Dialog
      open
      wide
      onOpenChange={close}
      title="Add a destination"
      description="Where should notifications go?"
    >
      {error && !kinds ? (
        <ErrorState title="The kinds couldn't be loaded" error={error} retry={() => void refetch()} />
      ) : !kinds ? (
        <Skeleton className="h-32 rounded-lg" />
      ) : (
        <ul className="grid gap-2 sm:grid-cols-2">
          {kinds.map((kind) => (
            <li key={kind.kind}>
              <button
                type="button"
                onClick={() => choose(kind)}
                className="w-full rounded-md border border-line-strong px-3 py-2 text-left hover:bg-hover"
              >
                <span className="block font-medium text-sm">{kind.label}</span>
                <span className="block text-muted text-xs">{kindHints[kind.kind]}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </Dialog>
  );
}

type NewDestinationProps = { kind: DestinationKind; back: () => void; close: () => void };

function NewDestinationDialog({ kind, back, close }: NewDestinationProps) {
  const project = useProjectSlug();
  const add = useMutation({
    mutationFn: ({ name, entered }: Form) =>
      api<{ ok: true; destination: ProjectDestination; signingSecret?: string }>(
        "/api/project-destinations",
        {
          method: "POST",
          query: { project },
          body: { kind: kind.kind, name: name.trim(), settings: settingsOf(kind.fields, entered) },
        },
      ),
    onSuccess({ signingSecret }) {
      void refreshConnections(project, projectDestinationsQuery(project).queryKey);
      if (!signingSecret) close();
    },
  });
  if (add.data?.signingSecret) return <SigningSecretDialog secret={add.data.signingSecret} close={close} />;
  return (
    <DestinationDialog
      title={`Add a destination: ${kind.label}`}
      kind={kind}
      save={add}
      action="Add destination"
      back={back}
      close={close}
    />
  );
}

type EditProps = { destination: ProjectDestination; close: () => void };

export function EditDestinationDialog({ destination, close }: EditProps) {
  const project = useProjectSlug();
  const { data: kinds } = useQuery(destinationKindsQuery(project));
  const kind = kinds?.find((each) => each.kind === destination.kind);
  const save = useMutation({
    async mutationFn({ name, entered }: Form) {
      const settings = settingsChangeOf(kind!.fields, entered, destination);
      const body = {
        ...(name.trim() !== destination.name && { name: name.trim() }),
        ...(Object.keys(settings).length > 0 && { settings }),
      };
      if (Object.keys(body).length === 0) return;
      await api(`/api/project-destinations/${destination.id}`, { method: "PATCH", query: { project }, body });
    },
    onSuccess() {
      void refreshConnections(project, projectDestinationsQuery(project).queryKey);
      close();
    },
  });
  if (!kind) return null;
  return (
    <DestinationDialog
      title={`Edit destination: ${kind.label}`}
      kind={kind}
      existing={destination}
      save={save}
      action="Save"
      close={close}
    />
  );
}

type Props = {
  title: string;
  kind: DestinationKind;
  existing?: ProjectDestination;
  save: UseMutationResult<unknown, Error, Form>;
  /** The submit button's label. */
  action: string;
  back?: () => void;
  close: () => void;
};

/** Asks for a destination's name and the settings of its kind. */
function DestinationDialog({ title, kind, existing, save, action, back, close }: Props) {
  const { fields } = kind;
  const [name, setName] = useState(existing?.name ?? "");
  const [entered, setEntered] = useState(() => enteredOf(fields, existing));

  return (
    <FormDialog
      wide
      title={title}
      error={save.error}
      action={action}
      busy={save.isPending}
      submit={() => save.mutate({ name, entered })}
      {...(back && { back })}
      close={close}
    >
      <Field
        label="Name"
        value={name}
        onChange={(event) => setName(event.target.value)}
        required
        maxLength={limits.destinationNameCharacters}
        placeholder="On call"
        autoComplete="off"
        hint="Rules and deliveries show it."
        member="name"
      />
      <DestinationFields
        fields={fields}
        entered={entered}
        onChange={setEntered}
        {...(existing && { secrets: existing.secrets })}
      />
    </FormDialog>
  );
}
