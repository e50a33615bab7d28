import type { AcceptedEvent } from "../store.ts";

/**
 * Events on their way from the HTTP thread to the writer, as one text: copying a text between threads costs a fraction
 * of copying objects. A line for each event: numbers with spaces between, then the event's JSON, which has no line ends.
 */
export function encodeBatch(events: readonly AcceptedEvent[]): string {
  let text = "";
  for (const event of events) {
    const flags = (event.idSent ? 1 : 0) | (event.dated ? 2 : 0) | (event.notifies ? 4 : 0);
    text += `${event.projectId} ${event.createdAtMs} ${event.arrival.ms} ${event.arrival.sequence} ${flags} ${event.json}\n`;
  }
  return text;
}

export type BatchEvent = {
  projectId: number;
  createdAtMs: number;
  arrivalMs: number;
  arrivalSequence: number;
  idSent: boolean;
  dated: boolean;
  notifies: boolean;
  json: string;
};

export function decodeBatch(text: string): BatchEvent[] {
  const events: BatchEvent[] = [];
  let start = 0;
  while (start < text.length) {
    const a = text.indexOf(" ", start);
    const b = text.indexOf(" ", a + 1);
    const c = text.indexOf(" ", b + 1);
    const d = text.indexOf(" ", c + 1);
    const e = text.indexOf(" ", d + 1);
    const end = text.indexOf("\n", e + 1);
    const flags = Number(text.slice(d + 1, e));
    events.push({
      projectId: Number(text.slice(start, a)),
      createdAtMs: Number(text.slice(a + 1, b)),
      arrivalMs: Number(text.slice(b + 1, c)),
      arrivalSequence: Number(text.slice(c + 1, d)),
      idSent: (flags & 1) !== 0,
      dated: (flags & 2) !== 0,
      notifies: (flags & 4) !== 0,
      json: text.slice(e + 1, end),
    });
    start = end + 1;
  }
  return events;
}
