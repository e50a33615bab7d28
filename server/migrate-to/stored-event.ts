import { type ArrivalStamp, stampToken } from "../event/id.ts";
import { jsonOf } from "../storage/event-row.ts";
import type { ComparedRow } from "./tables.ts";

/** A stored event, in a form that is the same for both databases. */
export type StoredEvent = ComparedRow & {
  projectId: number;
  id: string;
  createdAtMs: number;
  json: string;
  arrival: ArrivalStamp;
  /** It notified, so it can have deliveries. */
  notified: boolean;
};

export type EventRow = {
  projectId: number;
  id: string;
  ms: number;
  body: string;
  arrivalMs: number;
  sequence: number;
};

/** @param id - with its dashes */
export function storedEvent(
  { projectId, id, ms, body, arrivalMs, sequence }: EventRow,
  notified: boolean,
): StoredEvent {
  const json = jsonOf(id, body, ms);
  const arrival = { ms: arrivalMs, sequence };
  return {
    key: [ms, id],
    text: `${json} ${stampToken(arrival)} ${notified ? "notified" : ""}`,
    projectId,
    id,
    createdAtMs: ms,
    json,
    arrival,
    notified,
  };
}
