import type { Stage } from "../migrate-to/move.ts";
import { printMessage, showsProgress } from "./output.ts";

const reportEveryMs = 1_000;

const titles: Record<Stage["name"], string> = {
  tables: "Accounts, projects and settings",
  events: "Events",
  proof: "Verifying",
};

/**
 * Reports the progress of a move on standard error about once a second: in one line on a terminal, otherwise in lines.
 */
export class Progress {
  #stage: Stage | null = null;
  #done = 0;
  #startedAtMs = 0;
  #timer: Timer | null = null;

  begin(stage: Stage): void {
    this.#stage = stage;
    this.#done = 0;
    this.#startedAtMs = performance.now();
    this.#timer = setInterval(() => this.#print(this.#withTimeLeft(stage)), reportEveryMs);
  }

  add(count: number): void {
    this.#done += count;
  }

  end(): void {
    if (!this.#stage) return;
    if (this.#timer) clearInterval(this.#timer);
    this.#print(this.#counts(this.#stage));
    if (showsProgress()) process.stderr.write("\n");
    this.#stage = null;
  }

  #print(text: string): void {
    if (showsProgress()) process.stderr.write(`\r\u001b[K${text}`);
    else if (!process.stderr.isTTY) printMessage(text);
  }

  #withTimeLeft(stage: Stage): string {
    const remaining = Math.max(stage.total - stage.before - this.#done, 0);
    const seconds = remaining / this.#perSecond;
    return `${this.#counts(stage)}, ${Number.isFinite(seconds) ? `${durationOf(seconds)} left` : "just started"}`;
  }

  #counts({ name, total, before }: Stage): string {
    const done = numberOf(before + this.#done);
    return `${titles[name]}: ${done} of ${numberOf(total)}, ${numberOf(this.#perSecond)} a second`;
  }

  get #perSecond(): number {
    return this.#done / Math.max((performance.now() - this.#startedAtMs) / 1_000, 0.001);
  }
}

function numberOf(count: number): string {
  return Math.round(count).toLocaleString("en");
}

function durationOf(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  if (seconds < 90 * 60) return `${Math.ceil(seconds / 60)} min`;
  return `${Math.floor(seconds / 3_600)} h ${Math.ceil((seconds % 3_600) / 60)} min`;
}
