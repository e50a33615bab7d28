import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { limits } from "../../server/core/limits.ts";
import type { Group } from "../../server/schemas/group.ts";
import { Field } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { refresh } from "../queries.ts";
import { groupName } from "./group-text.ts";
import { groupsKey, saveGroup } from "./groups.ts";

type Props = { project: string; group: Group; close: () => void };

/** Adds a user to a group. */
export function AddMemberDialog({ project, group, close }: Props) {
  const [userId, setUserId] = useState("");
  const add = useMutation({
    mutationFn: () => saveGroup(project, group, { userId: userId.trim() }),
    async onSuccess() {
      close();
      await refresh(groupsKey(project));
    },
  });
  return (
    <FormDialog
      title="Add a person"
      description={
        <span className="hostile block">
          Their events, also past ones, belong to{" "}
          <bdi className="font-semibold text-ink">{groupName(group)}</bdi> then, unless they name another{" "}
          {group.type}.
        </span>
      }
      error={add.error}
      action="Add"
      busy={add.isPending}
      submit={() => add.mutate()}
      close={close}
    >
      <Field
        label="User ID"
        value={userId}
        onChange={(event) => setUserId(event.target.value)}
        required
        maxLength={limits.userIdCharacters}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        hint="Any ID of the person."
        member="userId"
      />
    </FormDialog>
  );
}
