import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { limits } from "../../server/core/limits.ts";
import { Field } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { refresh } from "../queries.ts";
import { groupsKey, saveGroup } from "./groups.ts";

type Props = { project: string; type: string; close: () => void };

/** Creates a group, of the type that the page shows unless another one is entered. */
export function NewGroupDialog({ project, type: shownType, close }: Props) {
  const navigate = useNavigate();
  const [type, setType] = useState(shownType);
  const [id, setId] = useState("");
  const [name, setName] = useState("");
  const create = useMutation({
    mutationFn: () => {
      const properties = name.trim() === "" ? {} : { properties: { name: name.trim() } };
      return saveGroup(project, { type: type.trim(), id: id.trim() }, properties);
    },
    async onSuccess() {
      close();
      await refresh(groupsKey(project));
      await navigate({
        to: "/p/$project/groups/$type/$group",
        params: { project, type: type.trim(), group: id.trim() },
      });
    },
  });
  return (
    <FormDialog
      title="New group"
      description="A company, a team or another group of users."
      error={create.error}
      action="Create"
      busy={create.isPending}
      submit={() => create.mutate()}
      close={close}
    >
      <Field
        label="Type"
        value={type}
        onChange={(event) => setType(event.target.value)}
        required
        maxLength={limits.tagKeyCharacters}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        hint={`Searches find its events by TYPE:ID. A project can have ${limits.groupTypes} types.`}
        member="type"
      />
      <Field
        label="ID"
        value={id}
        onChange={(event) => setId(event.target.value)}
        required
        maxLength={limits.groupIdCharacters}
        placeholder="acme"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        hint="As your application knows it."
        member="id"
      />
      <Field
        label="Name"
        value={name}
        onChange={(event) => setName(event.target.value)}
        maxLength={limits.tagValueCharacters}
        placeholder="ACME Inc."
        autoComplete="off"
        hint="Optional: the property “name”."
        member="properties/name"
      />
    </FormDialog>
  );
}
