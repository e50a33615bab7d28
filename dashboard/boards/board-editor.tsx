import { useNavigate, useRouter } from "@tanstack/react-router";
import { Plus, Undo2 } from "lucide-react";
import { Suspense, useEffect, useMemo, useRef, useState } from "react";
import { inReadingOrder } from "../../server/boards/reading-order.ts";
import { limits } from "../../server/core/limits.ts";
import type { Board } from "../../server/schemas/board.ts";
import type { Tile } from "../../server/schemas/tile.ts";
import { ApiError, api, errorMessage } from "../api.ts";
import { lazyPart } from "../components/lazy-part.tsx";
import { Button } from "../components/ui/button.tsx";
import { Alert } from "../components/ui/states.tsx";
import { changedMembers } from "../edits/differences.ts";
import { useDraftKey } from "../edits/draft-note.tsx";
import { removeDraft } from "../edits/drafts.ts";
import { useEdit } from "../edits/use-edit.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { queries } from "../queries.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { type BoardForm, boardComparison } from "./board-comparison.ts";
import { boardQuery, draftTiles, TileSourceContext } from "./boards.ts";
import { EditGrid } from "./edit-grid.tsx";
import { compactTiles, freePlace } from "./layout.ts";
import { newTileId, tileTypes } from "./tile-form.ts";
import { useRange } from "./use-range.ts";

const TileEditor = lazyPart(async () => (await import("./tile-editor.tsx")).default);

type Props = { board: Board; isNew: boolean; close: () => void };

/** Edits a board. Nothing is saved before "Save", and then all at once. */
export default function BoardEditor({ board, isNew, close }: Props) {
  const project = useProjectSlug();
  const { range } = useRange();
  const navigate = useNavigate();
  const draftKey = useDraftKey("board")(board.id);
  const path = `/api/boards/${board.id}`;
  const bodyOf = ({ name, tiles }: BoardForm) => ({ name: name.trim(), tiles: inReadingOrder(tiles) });
  async function patch(body: Partial<BoardForm>, { version }: Board): Promise<Board> {
    return (await api<{ board: Board }>(path, { method: "PATCH", query: { project }, body, version })).board;
  }
  const edit = useEdit<Board, BoardForm, Board | null>({
    thing: board,
    what: "board",
    formOf: ({ name, tiles }) => ({ name, tiles }),
    compare: boardComparison,
    keys: [["boards", project]],
    draft: draftKey,
    async save(form, base) {
      const body = changedMembers(bodyOf(form), bodyOf(base));
      return Object.keys(body).length === 0 ? null : patch(body, base);
    },
    saved(saved) {
      if (saved) queries.setQueryData(boardQuery(project, saved.id).queryKey, saved);
      close();
      if (saved && saved.id !== board.id) {
        const params = { project, board: saved.id };
        void navigate({ to: "/p/$project/boards/$board", params, ignoreBlocker: true });
      }
    },
    gone: {
      code: "board-unknown",
      async recreate(form, base) {
        try {
          await api(`${path}/restore`, { method: "POST", query: { project } }).catch(unlessUnknown);
          return await patch(bodyOf(form), base);
        } catch (error) {
          // It was deleted too long ago.
          unlessUnknown(error);
          const created = { method: "POST", query: { project }, body: bodyOf(form) } as const;
          return (await api<{ board: Board }>("/api/boards", created)).board;
        }
      },
    },
  });
  const { form, change: changeForm, isPending, error } = edit;
  const { name, tiles } = form;
  const [history, setHistory] = useState<BoardForm[]>([]);
  /** The tile in the editor; null: a new one. */
  const [edited, setEdited] = useState<Tile | null | undefined>(isNew && !edit.isChanged ? null : undefined);
  const source = useMemo(() => draftTiles(project, board), [project, board]);
  useUnsaved(edit.isChanged, () => removeDraft(draftKey));

  function change(next: Tile[]) {
    setHistory([...history, form]);
    changeForm({ ...form, tiles: next });
  }
  function undo() {
    const before = history.at(-1);
    if (!before) return;
    setHistory(history.slice(0, -1));
    changeForm(before);
  }
  function cancel() {
    edit.discard();
    close();
  }

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
          edit.submit();
        }}
        className="flex shrink-0 flex-wrap items-center gap-2 border-line border-b px-4 py-2 md:px-5"
      >
        <input
          aria-label="Name of the board"
          value={name}
          onChange={(event) => changeForm({ ...form, name: event.target.value })}
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
        <Button variant="ghost" onClick={cancel}>
          Cancel
        </Button>
        <Button variant="solid" type="submit" busy={isPending}>
          Save
        </Button>
      </form>
      {error && (
        <div className="px-4 pt-3 md:px-5">
          <Alert>{errorMessage(error)}</Alert>
        </div>
      )}
      {edit.isChanged && !isPending && board.version !== edit.base.version && (
        <p role="status" className="px-4 pt-3 text-muted text-sm md:px-5">
          This board was saved by somebody else since you began. When you save, you choose what to keep.
        </p>
      )}
      {edit.dialog}
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

function unlessUnknown(error: unknown): void {
  if (!(error instanceof ApiError) || error.code !== "board-unknown") throw error;
}

/** Asks before the page is left with unsaved changes, and forgets these then. */
function useUnsaved(isUnsaved: boolean, forget: () => void): void {
  const { history } = useRouter();
  const current = useRef(forget);
  useEffect(() => {
    current.current = forget;
  });
  useEffect(() => {
    if (!isUnsaved) return;
    return history.block({
      blockerFn() {
        if (!confirm("Leave without saving your changes to the board?")) return true;
        current.current();
        return false;
      },
      enableBeforeUnload: true,
    });
  }, [history, isUnsaved]);
}
