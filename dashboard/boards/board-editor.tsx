import { useMutation } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { Plus, Undo2 } from "lucide-react";
import { Suspense, useEffect, useMemo, useState } from "react";
import { limits } from "../../server/limits.ts";
import type { Board } from "../../server/wire/board.ts";
import type { Tile } from "../../server/wire/tile.ts";
import { ApiError, api, errorMessage } from "../api.ts";
import { lazyPart } from "../components/lazy-part.tsx";
import { Button } from "../components/ui/button.tsx";
import { Alert } from "../components/ui/states.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { queries, refresh } from "../queries.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { boardQuery, draftTiles, TileSourceContext } from "./boards.ts";
import { EditGrid } from "./edit-grid.tsx";
import { compactTiles, freePlace } from "./layout.ts";
import { inReadingOrder } from "./reading-order.ts";
import { newTileId, tileTypes } from "./tile-form.ts";
import { useRange } from "./use-range.ts";

const TileEditor = lazyPart(async () => (await import("./tile-editor.tsx")).default);

type Draft = { name: string; tiles: Tile[] };
type Props = { board: Board; isNew: boolean; close: () => void };

/** Edits a board. Nothing is saved before "Save", and then all at once. */
export default function BoardEditor({ board, isNew, close }: Props) {
  const project = useProjectSlug();
  const { range } = useRange();
  const [draft, setDraft] = useState<Draft>({ name: board.name, tiles: board.tiles });
  const [history, setHistory] = useState<Draft[]>([]);
  /** The tile in the editor; null: a new one. */
  const [edited, setEdited] = useState<Tile | null | undefined>(isNew ? null : undefined);
  const source = useMemo(() => draftTiles(project, board), [project, board]);
  const { name, tiles } = draft;
  const isChanged = history.length > 0 || name !== board.name;

  function change(next: Tile[]) {
    setHistory([...history, draft]);
    setDraft({ ...draft, tiles: next });
  }
  function undo() {
    const before = history.at(-1);
    if (!before) return;
    setHistory(history.slice(0, -1));
    setDraft(before);
  }
  const save = useMutation({
    /** @param version - the version that is replaced */
    mutationFn: (version: number) =>
      api<{ board: Board }>(`/api/boards/${board.id}`, {
        method: "PATCH",
        query: { project },
        body: { name: name.trim(), tiles: inReadingOrder(tiles), version },
      }),
    onSuccess({ board: saved }) {
      queries.setQueryData(boardQuery(project, board.id).queryKey, saved);
      void refresh(["boards", project]);
      close();
    },
  });
  const isConflict = save.error instanceof ApiError && save.error.code === "board-changed";
  useUnsaved(isChanged && !save.isSuccess);

  useEffect(() => {
    function onKey(event: KeyboardEvent) {
      const isTyping = (event.target as Element | null)?.closest("input, textarea, select, [role=dialog]");
      if (isTyping || event.key.toLowerCase() !== "z" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      undo();
    }
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  });

  /** Shows what somebody else has saved meanwhile. */
  async function reload() {
    await queries.refetchQueries({ queryKey: boardQuery(project, board.id).queryKey });
    close();
  }

  /** Saves over what somebody else has saved meanwhile. */
  async function overwrite() {
    const { version } = await queries.fetchQuery({ ...boardQuery(project, board.id), staleTime: 0 });
    save.mutate(version);
  }

  function apply(tile: Tile) {
    if (edited) change(tiles.map((each) => (each.id === edited.id ? tile : each)));
    else {
      const { w, h } = tileTypes[tile.type];
      change([...tiles, { ...tile, id: newTileId(), ...freePlace(tiles, w, h) }]);
    }
    setEdited(undefined);
  }

  return (
    <>
      <PageHeader title={`Edit ${board.name}`} />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(board.version);
        }}
        className="flex shrink-0 flex-wrap items-center gap-2 border-line border-b px-4 py-2 md:px-5"
      >
        <input
          aria-label="Name of the board"
          value={name}
          onChange={(event) => setDraft({ ...draft, name: event.target.value })}
          maxLength={limits.boardNameCharacters}
          required
          className="h-8 min-w-0 flex-1 rounded-md md:max-w-72 max-md:basis-full border border-line-strong bg-raised px-2.5 text-sm max-md:min-h-10"
        />
        <span className="flex-1" />
        {/* The editor replaces the page, and the button that opened it. */}
        <Button autoFocus onClick={() => setEdited(null)} disabled={tiles.length >= limits.tiles}>
          <Plus aria-hidden className="size-4" />
          Add tile
        </Button>
        <Button variant="ghost" disabled={history.length === 0} onClick={undo} title="Undo (Ctrl Z)">
          <Undo2 aria-hidden className="size-4" />
          Undo
        </Button>
        <Button variant="ghost" onClick={close}>
          Cancel
        </Button>
        <Button variant="solid" type="submit" busy={save.isPending}>
          Save
        </Button>
      </form>
      {save.error && (
        <div className="flex flex-wrap items-center gap-2 px-4 pt-3 md:px-5">
          <Alert>
            {isConflict ? "Somebody else has changed this board since you began." : errorMessage(save.error)}
          </Alert>
          {isConflict && (
            <>
              <Button onClick={() => void reload()}>Show their version</Button>
              <Button variant="danger" onClick={() => void overwrite()}>
                Replace it with mine
              </Button>
            </>
          )}
        </div>
      )}
      <div className="board-pane min-h-0 flex-1 overflow-y-auto bg-canvas p-3 md:p-4">
        <TileSourceContext value={source}>
          <EditGrid
            tiles={tiles}
            range={range}
            change={change}
            edit={setEdited}
            duplicate={(tile) =>
              change([...tiles, { ...tile, id: newTileId(), ...freePlace(tiles, tile.w, tile.h) }])
            }
            remove={(tile) => change(compactTiles(tiles.filter(({ id }) => id !== tile.id)))}
          />
        </TileSourceContext>
      </div>
      {edited !== undefined && (
        <Suspense fallback={null}>
          <TileEditor tile={edited} range={range} save={apply} close={() => setEdited(undefined)} />
        </Suspense>
      )}
    </>
  );
}

/** Asks before the page is left with unsaved changes. */
function useUnsaved(isUnsaved: boolean): void {
  const { history } = useRouter();
  useEffect(() => {
    if (!isUnsaved) return;
    return history.block({
      blockerFn: () => !confirm("Leave without saving your changes to the board?"),
      enableBeforeUnload: true,
    });
  }, [history, isUnsaved]);
}
