import { type QueryKey, useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { api } from "../api.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { type Comparison, changedMembers } from "./differences.ts";
import { useDraftKey, useNewForm } from "./draft-note.tsx";
import { useEdit } from "./use-edit.tsx";

/** Things of a project that a form creates and edits, such as rules. */
export type ItemKind<Item, Form> = {
  /** As one says it: "rule". The API's problem for one that doesn't exist begins with it. */
  noun: string;
  /** Where the API has them: "/api/rules". */
  path: string;
  /** Of the keys of drafts. Default: the noun. */
  draft?: string;
  formOf: (item: Item) => Form;
  /** What is sent of a form. */
  bodyOf: (form: Form) => object;
  /** What a new one has besides. Those that were deleted meanwhile are created again with it. */
  newBodyOf?: (form: Form, base: Item | null) => object;
  /** The queries that show them. */
  keys: (project: string) => QueryKey[];
};

/** What the dialog around a form takes. */
export type FormProps<Form> = {
  form: Form;
  onChange: (form: Form) => void;
  error: unknown;
  busy: boolean;
  submit: () => void;
  close: () => void;
};

type New<Item, Form> = {
  initial: () => Form;
  /** What the form begins with in any case, also if there is a draft. */
  given?: Form | undefined;
  /** Called with the response, before the dialog closes. */
  created?: ((item: Item) => void) | undefined;
  close: () => void;
};

/** The form of a new item. Its draft ends when it is created, or closed. */
export function useNewItem<Item, Form>(
  kind: ItemKind<Item, Form>,
  { initial, given, created, close }: New<Item, Form>,
): FormProps<Form> {
  const project = useProjectSlug();
  const { form, change, discard } = useNewForm(useDraftKey(draftOf(kind))(""), initial, given);
  const create = useMutation({
    mutationFn: () => post(kind, project, form, null),
    onSuccess(response) {
      void refresh(...kind.keys(project));
      discard();
      created?.(response[kind.noun]!);
      close();
    },
  });
  return {
    form,
    onChange: change,
    error: create.error,
    busy: create.isPending,
    submit: () => create.mutate(),
    close() {
      discard();
      close();
    },
  };
}

type Edited<Item, Form> = { item: Item; compare: Comparison<Form>; close: () => void };

/** The form of an item that others can edit too. The dialog that asks what to keep has to be rendered beside it. */
export function useEditedItem<Item extends { id: string; version: string }, Form extends object>(
  kind: ItemKind<Item, Form>,
  { item, compare, close }: Edited<Item, Form>,
): { props: FormProps<Form>; conflict: ReactNode } {
  const project = useProjectSlug();
  const { noun, path, formOf, bodyOf } = kind;
  const { form, change, error, isPending, submit, discard, dialog } = useEdit<Item, Form>({
    thing: item,
    what: noun,
    formOf,
    compare,
    keys: kind.keys(project),
    draft: useDraftKey(draftOf(kind))(item.id),
    async save(form, base) {
      const body = changedMembers(bodyOf(form), bodyOf(formOf(base)));
      if (Object.keys(body).length === 0) return;
      const { version } = base;
      await api(`${path}/${item.id}`, { method: "PATCH", query: { project }, body, version });
    },
    saved: close,
    gone: { code: `${noun}-unknown`, recreate: (form, base) => post(kind, project, form, base) },
  });
  return {
    props: {
      form,
      onChange: change,
      error,
      busy: isPending,
      submit: () => submit(),
      close() {
        discard();
        close();
      },
    },
    conflict: dialog,
  };
}

/** Deletes an item. @param deleted - called once it is, before the dialog closes */
export function useDeletedItem<Item extends { id: string }, Form>(
  { path, keys }: Pick<ItemKind<Item, Form>, "path" | "keys">,
  { item, deleted, close }: { item: Item; deleted?: (() => void) | undefined; close: () => void },
) {
  const project = useProjectSlug();
  return useMutation({
    mutationFn: () => api(`${path}/${item.id}`, { method: "DELETE", query: { project } }),
    onSuccess() {
      void refresh(...keys(project));
      deleted?.();
      close();
    },
  });
}

function post<Item, Form>(
  { path, bodyOf, newBodyOf }: ItemKind<Item, Form>,
  project: string,
  form: Form,
  base: Item | null,
): Promise<Record<string, Item>> {
  const body = { ...bodyOf(form), ...newBodyOf?.(form, base) };
  return api<Record<string, Item>>(path, { method: "POST", query: { project }, body });
}

function draftOf({ draft, noun }: { draft?: string; noun: string }): string {
  return draft ?? noun;
}
