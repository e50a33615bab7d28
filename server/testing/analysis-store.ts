import type { Event } from "../event/event.ts";
import { ArrivalClock } from "../event/id.ts";
import { createProject } from "../projects/projects.ts";
import { acceptedEvent } from "./accepted-event.ts";
import { type Engine, makeStorage, openEngineStore, removeStorage } from "./engine.ts";
import { removeEvents } from "./remove-events.ts";

/** Few enough that some hundred events are several blocks. */
const blockEvents = 150;
/** By then, all events of a test are old enough for blocks. */
const settledMs = 100 * 24 * 60 * 60 * 1_000;
const rest = async () => {};

type NewEvent = {
  /** Whether it is of another project, which must not count. */
  isOther: boolean;
  event: NonNullable<Parameters<typeof acceptedEvent>[0]["event"]>;
  createdAtMs: number;
};

export type AnalysisStore = Awaited<ReturnType<typeof openAnalysisStore>>;

/** A store with two projects, for tests that compare analyses of the first with plain computations. */
export async function openAnalysisStore(engine: Engine) {
  const storage = await makeStorage(engine);
  const store = await openEngineStore(storage, blockEvents);
  const clock = new ArrivalClock(null);
  const { id: projectId } = await createProject(store.control, "One", null);
  const { id: otherId } = await createProject(store.control, "Other", null);
  let latestMs = 0;
  return {
    control: store.control,
    events: store.events,
    projectId,
    async append(events: readonly NewEvent[]): Promise<void> {
      const results = await store.events.appendAll(
        events.map(({ isOther, event, createdAtMs }) => {
          latestMs = Math.max(latestMs, createdAtMs);
          const project = isOther ? otherId : projectId;
          return acceptedEvent({ projectId: project, arrival: clock.next(), event, createdAtMs });
        }),
      );
      for (const result of results)
        if (!("kind" in result) || result.kind !== "created") throw new Error("An event wasn't recorded.");
    },
    /** All events of the project, oldest first. */
    async list(): Promise<Event[]> {
      const decoder = new TextDecoder();
      const query = { projectId, filter: {}, order: "asc" as const, format: "ndjson" as const };
      let text = "";
      for await (const chunk of store.events.stream(query)) text += decoder.decode(chunk, { stream: true });
      return text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Event);
    },
    indexBlocks: () => store.events.indexBlocks(rest, latestMs + settledMs),
    /** Removes a user's events. Their blocks are built again only with `indexBlocks`. */
    async remove(userId: string): Promise<void> {
      await removeEvents(store, { projectId, userIds: [userId] });
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await store.close();
      await removeStorage(storage);
    },
  };
}
