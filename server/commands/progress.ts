import type { Stage } from "../migrate-to/move.ts";

const everyMs = 1_000;

const titles: Record<Stage["name"], string> = {
  tables: "Accounts, projects and settings",
  events: "Events",
  proof: "Verifying",
};

/** Says on standard error how far a move is, about once a second: on a terminal in one line, else in lines. */
export class Progress {
  #stage: Stage | null = null;
  #done = 0;
  #startedAtMs = 0;
  #timer: Timer | null = null;

  begin(stage: Stage): void {
    this.#stage = stage;
    this.#done = 0;
    this.#startedAtMs = performance.now();
    this.#timer = setInterval(() => this.#say(this.#whileUnderWay(stage)), everyMs);
  }

  add(count: number): void {
    this.#done += count;
  }

  end(): void {
    if (!this.#stage) return;
    if (this.#timer) clearInterval(this.#timer);
    this.#say(this.#inNumbers(this.#stage));
    if (process.stderr.isTTY) process.stderr.write("\n");
    this.#stage = null;
  }

  #say(text: string): void {
    process.stderr.write(process.stderr.isTTY ? `\r\u001b[K${text}` : `${text}\n`);
  }

  #whileUnderWay(stage: Stage): string {
    const left = Math.max(stage.total - stage.before - this.#done, 0);
    const seconds = left / this.#perSecond;
    return `${this.#inNumbers(stage)}, ${Number.isFinite(seconds) ? `${durationOf(seconds)} left` : "just started"}`;
  }

  #inNumbers({ name, total, before }: Stage): string {
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
