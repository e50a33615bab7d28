import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { readSignedText, signText } from "../core/signed-text.ts";
import type { Period } from "./report-schedule.ts";

/** The content of a picture's address: a report's board, in a period. */
type Pictured = Period & { reportId: string };

const purpose = "report picture";
const dayMs = 24 * 60 * 60 * 1_000;

/**
 * Signs the addresses of pictures, for chats and webhooks that can't take files. Who has one sees a picture of
 * the board as it is then, for one period, without a session and for some weeks.
 */
export class PictureLinks {
  readonly #secret: string;
  readonly #baseUrl: string;

  constructor(secret: string, baseUrl: string) {
    this.#secret = secret;
    this.#baseUrl = baseUrl;
  }

  url({ reportId, every, timeZone, beforeMs, fromMs, toMs }: Pictured, nowMs: number): string {
    const untilMs = nowMs + limits.reportPictureDays * dayMs;
    const text = JSON.stringify([reportId, every, timeZone, beforeMs, fromMs, toMs, untilMs]);
    return `${this.#baseUrl}/reports/${signText(this.#secret, purpose, text)}.png`;
  }

  /** Reads the end of an address. Throws `report-unknown`, also after it has expired. */
  read(file: string, nowMs: number): Pictured {
    const text = file.endsWith(".png") ? readSignedText(this.#secret, purpose, file.slice(0, -4)) : null;
    if (text === null) throw unknownPicture();
    const [reportId, every, timeZone, beforeMs, fromMs, toMs, untilMs] = JSON.parse(text);
    if (untilMs <= nowMs) throw unknownPicture();
    return { reportId, every, timeZone, beforeMs, fromMs, toMs };
  }
}

/** The same for all reasons, so that it says nothing about reports. */
export function unknownPicture() {
  return problem("report-unknown", {
    detail: `There is no picture at this address. It works for ${limits.reportPictureDays} days, as long as there is the report.`,
  });
}
