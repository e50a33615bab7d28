import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { starterTiles } from "../../server/boards/starter-tiles.ts";
import { limits } from "../../server/core/limits.ts";
import type { Board, BoardSummary } from "../../server/schemas/board.ts";
import { api, errorMessage } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { SecretBox } from "../components/ui/copy-button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { Choice, Choices } from "../components/ui/field.tsx";
import { NameDialog } from "../components/ui/name-dialog.tsx";
import { Alert } from "../components/ui/states.tsx";
import { useKnownVersion } from "../edits/use-known-version.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";

export function NewBoardDialog({ close }: { close: () => void }) {
  const project = useProjectSlug();
  const navigate = useNavigate();
  const [isEmpty, setEmpty] = useState(false);
  const create = useMutation({
    mutationFn: (name: string) =>
      api<{ board: Board }>("/api/boards", {
        method: "POST",
        query: { project },
        body: { name, tiles: isEmpty ? [] : starterTiles },
      }),
    async onSuccess({ board }) {
      await refresh(["boards", project]);
      close();
      void navigate({ to: "/p/$project/boards/$board", params: { project, board: board.id } });
    },
  });
  return (
    <NameDialog
      title="New board"
      description="A page of charts and numbers that everybody in the project sees."
      create={create}
      action="Create board"
      close={close}
      field={{ maxLength: limits.boardNameCharacters, placeholder: "Sales" }}
    >
      <Choices label="Begin with" className="grid-cols-2">
        <Choice
          type="radio"
          name="tiles"
          label="Useful tiles"
          hint="Events, users, channels"
          checked={!isEmpty}
          onChange={() => setEmpty(false)}
        />
        <Choice
          type="radio"
          name="tiles"
          label="Nothing"
          hint="An empty board"
          checked={isEmpty}
          onChange={() => setEmpty(true)}
        />
      </Choices>
    </NameDialog>
  );
}

/** Creates a board's public link, or ends it. The link is shown once, because only its hash is stored. */
export function PublicLinkDialog({ board, close }: { board: BoardSummary; close: () => void }) {
  const project = useProjectSlug();
  const path = `/api/boards/${board.id}/link`;
  const { known, note, errorOf, onError } = useKnownVersion(board);
  const options = { query: { project }, version: known.linkVersion };
  const create = useMutation({
    mutationFn: () => api<{ link: string }>(path, { method: "POST", ...options }),
    onSuccess: () => void refresh(["boards", project]),
    onError,
  });
  const end = useMutation({
    mutationFn: () => api(path, { method: "DELETE", ...options }),
    onError,
    async onSuccess() {
      await refresh(["boards", project]);
      close();
    },
  });
  const error = errorOf(create.error ?? end.error);
  const { isPublic } = known;
  return (
    <Dialog
      open
      onOpenChange={close}
      title="Public link"
      description="Anyone with the link sees this board without signing in: its results, but not its searches or users. The link opens nothing else."
    >
      <div className="flex flex-col gap-4">
        {Boolean(error) && <Alert>{errorMessage(error)}</Alert>}
        {!create.data && note}
        {create.data ? (
          <>
            <SecretBox secret={create.data.link} label="Copy link" />
            <p className="text-muted text-sm">Copy it now: it is shown only once.</p>
          </>
        ) : (
          <p className="text-sm">
            {isPublic
              ? "This board has a public link. A new link ends it."
              : "This board has no public link yet."}
          </p>
        )}
        <DialogButtons>
          {isPublic && (
            <Button variant="danger" busy={end.isPending} onClick={() => end.mutate()}>
              End the link
            </Button>
          )}
          {create.data ? (
            <Button variant="solid" onClick={close}>
              Done
            </Button>
          ) : (
            <Button variant="solid" busy={create.isPending} onClick={() => create.mutate()}>
              {isPublic ? "New link" : "Create link"}
            </Button>
          )}
        </DialogButtons>
      </div>
    </Dialog>
  );
}
