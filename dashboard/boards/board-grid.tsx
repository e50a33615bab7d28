import type { CSSProperties } from "react";
import "./boards.css";
import { inReadingOrder, type Place } from "../../server/boards/reading-order.ts";
import type { ShownTile } from "./boards.ts";
import type { BoardRange } from "./ranges.ts";
import { TileBox } from "./tile.tsx";

/** A board's tiles in their places; on phones in one column. */
export function BoardGrid({ tiles, range }: { tiles: readonly ShownTile[]; range: BoardRange }) {
  return (
    <div className="board">
      {inReadingOrder(tiles).map((tile) => (
        <div key={tile.id} style={placeStyle(tile)}>
          <TileBox tile={tile} range={range} />
        </div>
      ))}
    </div>
  );
}

export function placeStyle({ x, y, w, h }: Place): CSSProperties {
  return { "--x": x, "--y": y, "--w": w, "--h": h } as CSSProperties;
}
