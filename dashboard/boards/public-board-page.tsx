import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { Maximize2, Unlink } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { ApiError, api } from "../api.ts";
import { Mark } from "../components/mark.tsx";
import { Button } from "../components/ui/button.tsx";
import { EmptyState, ErrorState } from "../components/ui/states.tsx";
import { setZone } from "../components/zone.ts";
import { BoardGrid } from "./board-grid.tsx";
import { publicTiles, type ShownTile, TileSourceContext } from "./boards.ts";
import { RangePicker } from "./range-picker.tsx";
import { useRange } from "./use-range.ts";
import { Wall } from "./wall.tsx";

type PublicBoard = { name: string; version: number; timeZone: string | null; tiles: ShownTile[] };

/** How often the board itself is looked at, in case its tiles have changed. */
const refreshMs = 60_000;

/** A board for those who have its public link. */
export function PublicBoardPage() {
  const { token = "" } = useParams({ strict: false });
  const source = useMemo(() => publicTiles(token), [token]);
  const { range, change } = useRange();
  const [isOnWall, setOnWall] = useState(false);
  const {
    data: board,
    error,
    refetch,
  } = useQuery({
    queryKey: ["public-board", token],
    queryFn: async () =>
      (await api<{ board: PublicBoard }>(`/api/public/boards/${encodeURIComponent(token)}`)).board,
    refetchInterval: refreshMs,
    retry: false,
  });
  if (board) setZone(board.timeZone);
  const isGone = error instanceof ApiError && error.status === 404;
  useEffect(() => {
    document.title = board ? `${board.name} · Tidings` : "Tidings";
  }, [board]);

  if (isGone || (error && !board))
    return (
      <main className="flex h-full items-center justify-center">
        {isGone ? (
          <EmptyState icon={<Unlink aria-hidden />} title="This link doesn't work" isPage>
            It may have been ended or replaced. Ask who sent it to you for a new one.
          </EmptyState>
        ) : (
          <ErrorState title="The board couldn't be loaded" error={error} retry={() => void refetch()} />
        )}
      </main>
    );
  return (
    <div className="flex h-dvh flex-col bg-canvas">
      <header className="flex h-13 shrink-0 items-center gap-3 border-line border-b px-4 md:px-5">
        <Mark className="h-5 w-6.5 shrink-0 text-accent" />
        <h1 className="hostile-line flex-1 font-semibold text-lg">{board?.name ?? "Board"}</h1>
        <RangePicker range={range} change={change} />
        <Button
          size="icon"
          variant="ghost"
          aria-label="Full screen"
          title="Full screen"
          onClick={() => setOnWall(true)}
        >
          <Maximize2 aria-hidden className="size-4" />
        </Button>
      </header>
      <main className="board-pane min-h-0 flex-1 overflow-y-auto p-3 md:p-4">
        {board && (
          <TileSourceContext value={source}>
            {isOnWall ? (
              <Wall name={board.name} tiles={board.tiles} range={range} close={() => setOnWall(false)} />
            ) : (
              <BoardGrid tiles={board.tiles} range={range} />
            )}
          </TileSourceContext>
        )}
      </main>
    </div>
  );
}
