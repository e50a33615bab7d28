import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { limits } from "../../server/core/limits.ts";
import type { ProjectDestination } from "../../server/schemas/destination.ts";
import { api } from "../api.ts";
import { Dialog } from "../components/ui/dialog.tsx";
import { Field } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { ErrorState, Skeleton } from "../components/ui/states.tsx";
import { connectionsQuery, refreshConnections } from "../connections/connections.ts";
import { byParts } from "../edits/differences.ts";
import { useEdit } from "../edits/use-edit.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { rulesQuery } from "../rules/rules.ts";
import { DestinationFields, settingsChangeOf, settingsOf } from "./destination-fields.tsx";
import {
  type DestinationForm,
  destinationParts,
  formOf,
  hourlyLimitOf,
  newForm,
} from "./destination-form.ts";
import { HourlyLimitField } from "./hourly-limit-field.tsx";
import {
  type DestinationKind,
  destinationKindsQuery,
  kindHints,
  projectDestinationsQuery,
} from "./project-destinations.ts";
import { RuleChoices } from "./rule-choices.tsx";
import { SigningSecretDialog } from "./signing-secret-dialog.tsx";

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
  const [form, setForm] = useState<DestinationForm>(() => newForm(kind));
  const add = useMutation({
    mutationFn: () => create(project, kind, form),
    onSuccess({ signingSecret }) {
      void refreshConnections(project, projectDestinationsQuery(project).queryKey);
      void refresh(rulesQuery(project).queryKey);
      if (!signingSecret) close();
    },
  });
  if (add.data?.signingSecret) return <SigningSecretDialog secret={add.data.signingSecret} close={close} />;
  return (
    <DestinationDialog
      title={`Add a destination: ${kind.label}`}
      kind={kind}
      form={form}
      onChange={setForm}
      error={add.error}
      busy={add.isPending}
      submit={() => add.mutate()}
      action="Add destination"
      asksForRules
      back={back}
      close={close}
    />
  );
}

type Created = { ok: true; destination: ProjectDestination; signingSecret?: string };

function create(project: string, kind: DestinationKind, form: DestinationForm): Promise<Created> {
  const { name, entered, rules } = form;
  const settings = settingsOf(kind.fields, entered);
  const body = { kind: kind.kind, name: name.trim(), settings, hourlyLimit: hourlyLimitOf(form), rules };
  return api("/api/project-destinations", { method: "POST", query: { project }, body });
}

type EditProps = { destination: ProjectDestination; close: () => void };

export function EditDestinationDialog({ destination, close }: EditProps) {
  const { data: kinds } = useQuery(destinationKindsQuery(useProjectSlug()));
  const kind = kinds?.find((each) => each.kind === destination.kind);
  return kind && <EditDialog kind={kind} destination={destination} close={close} />;
}

function EditDialog({ kind, destination, close }: EditProps & { kind: DestinationKind }) {
  const project = useProjectSlug();
  const [secret, setSecret] = useState<string>();
  const { form, change, error, isPending, submit, dialog } = useEdit<
    ProjectDestination,
    DestinationForm,
    Created | null
  >({
    thing: destination,
    what: "destination",
    formOf: (each) => formOf(kind, each),
    compare: byParts(destinationParts(kind)),
    keys: [projectDestinationsQuery(project).queryKey, connectionsQuery(project).queryKey],
    async save(form, base) {
      const { name, entered } = form;
      const hourlyLimit = hourlyLimitOf(form);
      const settings = settingsChangeOf(kind.fields, entered, base);
      const body = {
        ...(name.trim() !== base.name && { name: name.trim() }),
        ...(Object.keys(settings).length > 0 && { settings }),
        ...(hourlyLimit !== base.hourlyLimit && { hourlyLimit }),
      };
      if (Object.keys(body).length === 0) return null;
      const { version } = base;
      await api(`/api/project-destinations/${destination.id}`, {
        method: "PATCH",
        query: { project },
        body,
        version,
      });
      return null;
    },
    saved(created) {
      if (created?.signingSecret) setSecret(created.signingSecret);
      else close();
    },
    gone: { code: "destination-unknown", recreate: (form) => create(project, kind, form) },
  });
  if (secret !== undefined) return <SigningSecretDialog secret={secret} close={close} />;
  return (
    <>
      <DestinationDialog
        title={`Edit destination: ${kind.label}`}
        kind={kind}
        form={form}
        onChange={change}
        error={error}
        busy={isPending}
        submit={() => submit()}
        action="Save"
        close={close}
      />
      {dialog}
    </>
  );
}

type Props = {
  title: string;
  kind: DestinationKind;
  form: DestinationForm;
  onChange: (form: DestinationForm) => void;
  error: unknown;
  busy: boolean;
  submit: () => void;
  /** The submit button's label. */
  action: string;
  /** Whether it asks which rules are to notify it. */
  asksForRules?: boolean;
  back?: () => void;
  close: () => void;
};

/** Asks for a destination's name and the settings of its kind. */
function DestinationDialog({ kind, form, onChange, asksForRules, ...dialog }: Props) {
  return (
    <FormDialog wide {...dialog}>
      <Field
        label="Name"
        value={form.name}
        onChange={(event) => onChange({ ...form, name: event.target.value })}
        required
        maxLength={limits.destinationNameCharacters}
        placeholder="On call"
        autoComplete="off"
        hint="Rules and deliveries show it."
        member="name"
      />
      <DestinationFields
        fields={kind.fields}
        entered={form.entered}
        onChange={(entered) => onChange({ ...form, entered })}
        secrets={form.secrets}
      />
      <HourlyLimitField
        value={form.hourlyLimit}
        onChange={(hourlyLimit) => onChange({ ...form, hourlyLimit })}
      />
      {asksForRules && <RuleChoices chosen={form.rules} onChange={(rules) => onChange({ ...form, rules })} />}
    </FormDialog>
  );
}
