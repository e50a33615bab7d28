import type { Kysely } from "kysely";
import { makeChange } from "../audit/changes.ts";
import { createBoard } from "../boards/boards.ts";
import { ProblemError } from "../core/problems.ts";
import type { Actor } from "../http/caller.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { websiteTiles } from "./website-tiles.ts";

const server: Actor = { kind: "server", id: null, name: null, address: null, userAgent: null };

/** Adds a board to each project with a website. */
export class WebsiteBoards {
  readonly #control: Kysely<ControlTables>;
  /** Projects that have got theirs. */
  readonly #done = new Set<number>();

  constructor(control: Kysely<ControlTables>) {
    this.#control = control;
  }

  /** Adds the board to a project when its first page view comes. A project gets one board, also if it is deleted. */
  async addTo(projectId: number): Promise<void> {
    if (this.#done.has(projectId)) return;
    await makeChange(this.#control, { actor: server, projectId }, async (change) => {
      const { numInsertedOrUpdatedRows } = await change.transaction
        .insertInto("websiteBoards")
        .values({ projectId, createdAt: Date.now() })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
      if (!numInsertedOrUpdatedRows) return;
      await createBoard(change, { name: "Website", tiles: websiteTiles }).catch((error) => {
        // A project that has as many boards as it may have needs no more.
        if (!(error instanceof ProblemError) || error.code !== "limit-reached") throw error;
      });
    });
    this.#done.add(projectId);
  }
}
