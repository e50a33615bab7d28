import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { Ellipsis, Globe, LayoutDashboard, Maximize2, Pencil, Plus } from "lucide-react";
import { Suspense, useMemo, useState } from "react";
import type { Board } from "../../server/schemas/board.ts";
import { ApiError } from "../api.ts";
import { lazyPart } from "../components/lazy-part.tsx";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { LazyMenu } from "../components/ui/lazy-menu.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { DraftNote, useDrafts } from "../edits/draft-note.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { OverlayBoundary } from "../shell/overlays.tsx";
import { PageHeader } from "../shell/page-header.tsx";
import { useShortcuts } from "../shell/shortcuts.tsx";
import type { BoardForm } from "./board-comparison.ts";
import { BoardGrid } from "./board-grid.tsx";
import { BoardLinks } from "./board-links.tsx";
import type { BoardMenuProps } from "./board-menu.tsx";
import { BoardTabs } from "./board-tabs.tsx";
import { boardQuery, boardsQuery, savedTiles, TileSourceContext } from "./boards.ts";
import { RangePicker } from "./range-picker.tsx";
import { useBoardActions } from "./use-board-actions.ts";
import { useLiveTiles } from "./use-live-tiles.ts";
import { useRange } from "./use-range.ts";
import { Wall } from "./wall.tsx";

const BoardMenu = lazyPart<BoardMenuProps>(async () => (await import("./board-menu.tsx")).default);
const BoardEditor = lazyPart<{ board: Board; isNew: boolean; close: () => void }>(
  async () => (await import("./board-editor.tsx")).default,
);
const NewBoardDialog = lazyPart<{ close: () => void }>(
  async () => (await import("./board-dialogs.tsx")).NewBoardDialog,
);
const NewReportDialog = lazyPart<{ board: string; close: () => void }>(
  async () => (await import("../reports/report-dialogs.tsx")).NewReportDialog,
);
const PublicLinkDialog = lazyPart<{ board: Board; close: () => void }>(
  async () => (await import("./board-dialogs.tsx")).PublicLinkDialog,
);

/** A project's boards: the one in the address, or the first. */
export function BoardsPage() {
  const project = useProjectSlug();
  const { board: id } = useParams({ strict: false });
  const { data: boards, error, refetch } = useQuery(boardsQuery(project));
  const [isCreating, setCreating] = useState(false);
  /** The board that is being edited: it stays, whatever becomes the first one. */
  const [edited, setEdited] = useState<string | null>(null);
  const can = useCan();
  const shown = id ?? edited ?? boards?.[0]?.id;
  return (
    <>
      {shown !== undefined ? (
        // With a key, another board begins at its top.
        <BoardPage
          key={shown}
          id={shown}
          create={() => setCreating(true)}
          onEdit={(isEditing) => setEdited(isEditing ? shown : null)}
        />
      ) : (
        <>
          <PageHeader title="Boards" />
          {error ? (
            <ErrorState title="Boards couldn't be loaded" error={error} retry={() => void refetch()} />
          ) : boards ? (
            <EmptyState
              icon={<LayoutDashboard aria-hidden />}
              title="No boards"
              action={
                can("boards:change") && (
                  <Button variant="solid" onClick={() => setCreating(true)}>
                    <Plus aria-hidden className="size-4" />
                    New board
                  </Button>
                )
              }
            >
              A board is a page of charts and numbers that everybody in the project sees. For a website, one
              comes by itself: the page “API keys” has the line to paste.
            </EmptyState>
          ) : null}
        </>
      )}
      {isCreating && (
        <OverlayBoundary close={() => setCreating(false)}>
          <NewBoardDialog close={() => setCreating(false)} />
        </OverlayBoundary>
      )}
    </>
  );
}

type BoardPageProps = {
  id: string;
  create: () => void;
  /** Called when editing begins and ends. */
  onEdit: (isEditing: boolean) => void;
};

function BoardPage({ id, create, onEdit }: BoardPageProps) {
  const project = useProjectSlug();
  const { data: boards = [] } = useQuery(boardsQuery(project));
  const { data: board, error, refetch } = useQuery(boardQuery(project, id));
  const { range, search, change } = useRange();
  const can = useCan();
  const [mode, setMode] = useState<"view" | "edit" | "wall">("view");
  const [wasEdited, setWasEdited] = useState(false);
  const [isPublishing, setPublishing] = useState(false);
  const [isReporting, setReporting] = useState(false);
  const source = useMemo(() => board && savedTiles(project, board), [project, board]);
  const position = boards.findIndex((each) => each.id === id);
  const canChange = can("boards:change");
  const { duplicate, move, remove } = useBoardActions(project, id);
  const { drafts, update, discard } = useDrafts<Board, BoardForm>("board");
  const draft = drafts.find(({ base }) => base?.id === id);
  const isGone = error instanceof ApiError && error.code === "board-unknown";

  function edit() {
    setMode("edit");
    onEdit(true);
  }
  const draftNote = draft && canChange && (
    <div className="px-4 pt-3 md:px-5">
      <DraftNote
        of={`the board ${draft.base!.name}`}
        draft={draft}
        resume={edit}
        discard={() => discard(draft.key)}
      />
    </div>
  );
  useLiveTiles(project);

  useShortcuts({
    f: () => board && mode === "view" && setMode("wall"),
    e: () => board && mode === "view" && canChange && edit(),
  });

  if (error && mode !== "edit" && (!board || isGone))
    return (
      <>
        <PageHeader title="Board" />
        {isGone && draftNote}
        <ErrorState
          title={isGone ? "This board was deleted" : "The board couldn't be loaded"}
          error={error}
          retry={() => void refetch()}
          action={
            <Link to="/p/$project/boards" params={{ project }} className={buttonClass()}>
              All boards
            </Link>
          }
        />
      </>
    );
  const editable = board ?? draft?.base;
  if (editable && mode === "edit")
    return (
      <Suspense fallback={null}>
        <BoardEditor
          board={editable}
          isNew={editable.tiles.length === 0}
          close={() => {
            setWasEdited(true);
            setMode("view");
            onEdit(false);
            update();
          }}
        />
      </Suspense>
    );
  return (
    <>
      <PageHeader
        title={board?.name ?? "Board"}
        titleActions={
          board?.isPublic && (
            <span title="This board has a public link" className="flex text-faint">
              <Globe aria-label="Public" className="size-4" />
            </span>
          )
        }
      >
        <BoardLinks project={project} />
      </PageHeader>
      <div className="flex shrink-0 flex-wrap items-center gap-2 border-line border-b px-4 py-2 md:px-5">
        <BoardTabs boards={boards} shown={id} search={search} />
        <div className="flex min-w-0 max-md:flex-1 max-md:*:w-full max-md:[&_select]:w-full">
          <RangePicker range={range} change={change} />
        </div>
        <Button
          aria-pressed={range.compare}
          variant={range.compare ? "outline" : "ghost"}
          {...(range.compare && { className: "bg-pressed!" })}
          title="Compare with the period before"
          onClick={() => change({ ...range, compare: !range.compare })}
        >
          Compare
        </Button>
        {canChange && board && (
          // The focus was in the editor, which has just closed.
          <Button autoFocus={wasEdited} onClick={edit} aria-keyshortcuts="e">
            <Pencil aria-hidden className="size-3.5" />
            <span className="max-md:sr-only">Edit</span>
          </Button>
        )}
        <Button
          size="icon"
          variant="ghost"
          className="max-md:hidden"
          aria-label="Full screen"
          title="Full screen (f)"
          aria-keyshortcuts="f"
          onClick={() => setMode("wall")}
        >
          <Maximize2 aria-hidden className="size-4" />
        </Button>
        {board && (
          <LazyMenu
            menu={BoardMenu}
            props={{
              canMove: { left: position > 0, right: position >= 0 && position < boards.length - 1 },
              create,
              duplicate: () => duplicate.mutate(board),
              move: (by) => move.mutate(position + by),
              publish: () => setPublishing(true),
              report: () => setReporting(true),
              remove: () => remove.mutate(board),
            }}
            label="Menu of the board"
            className={buttonClass({ variant: "ghost", size: "icon" })}
          >
            <Ellipsis aria-hidden className="size-4" />
          </LazyMenu>
        )}
      </div>
      {draftNote}
      <div className="board-pane min-h-0 flex-1 overflow-y-auto bg-canvas p-3 md:p-4">
        {!board || !source ? (
          <div className="grid grid-cols-2 gap-3">
            {[0, 1, 2, 3].map((each) => (
              <Skeleton key={each} className="h-40 rounded-lg" />
            ))}
          </div>
        ) : board.tiles.length === 0 ? (
          <EmptyState
            icon={<LayoutDashboard aria-hidden />}
            title="An empty board"
            action={
              canChange && (
                <Button variant="solid" onClick={() => setMode("edit")}>
                  <Plus aria-hidden className="size-4" />
                  Add a tile
                </Button>
              )
            }
          >
            Tiles show numbers, charts and events from a search. For a website, a board comes by itself: the
            page “API keys” has the line to paste.
          </EmptyState>
        ) : (
          <TileSourceContext value={source}>
            {mode === "wall" ? (
              <Wall name={board.name} tiles={board.tiles} range={range} close={() => setMode("view")} />
            ) : (
              <BoardGrid tiles={board.tiles} range={range} />
            )}
          </TileSourceContext>
        )}
      </div>
      {isReporting && board && (
        <OverlayBoundary close={() => setReporting(false)}>
          <NewReportDialog board={board.id} close={() => setReporting(false)} />
        </OverlayBoundary>
      )}
      {isPublishing && board && (
        <OverlayBoundary close={() => setPublishing(false)}>
          <PublicLinkDialog board={board} close={() => setPublishing(false)} />
        </OverlayBoundary>
      )}
    </>
  );
}
