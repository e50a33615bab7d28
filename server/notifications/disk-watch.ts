import { freeBytes, isDiskLow } from "../storage/disk.ts";
import type { ServerOutages } from "./server-outages.ts";

const lookEveryMs = 60_000;
const gigabyte = 1e9;

type Deps = {
  dataDirectory: string;
  outages: ServerOutages;
  onError: (error: unknown) => void;
  isLow?: (directory: string) => boolean;
};

/** Tells the owner when the data directory's disk is nearly full, before recording fails. */
export class DiskWatch {
  readonly #deps: Deps;
  readonly #timer: Timer;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#timer = setInterval(() => void this.look(), lookEveryMs);
    this.#timer.unref();
  }

  async look(): Promise<void> {
    const { dataDirectory, outages, onError, isLow = isDiskLow } = this.#deps;
    try {
      const free = `${(freeBytes(dataDirectory) / gigabyte).toFixed(1)} GB are free in ${dataDirectory}.`;
      if (isLow(dataDirectory)) {
        await outages.begin(
          "disk",
          "The disk is nearly full",
          `${free} When it is full, events are rejected. Free some space, or shorten how long events are kept.`,
        );
      } else await outages.end("disk", "The disk has space again", free);
    } catch (error) {
      onError(error);
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
