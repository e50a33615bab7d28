import type { TileData } from "../schemas/tile-data.ts";

/** The content of a report by email, chat or webhook. Texts are in English, times in the report's time zone. */
export type ReportContent = {
  board: { id: string; name: string };
  /** ISO 8601; the period before ends where this one begins. */
  from: string;
  to: string;
  before: string;
  timeZone: string;
  /** The first and last day, as the dashboard's addresses have them. */
  days: { from: string; to: string };
  /** "Nov 16 – 22, 2026". */
  period: string;
  /** "the week before". */
  compared: string;
  sections: ReportSection[];
  /** As the webhook has them. */
  tiles: ReportedTile[];
  /** Where the picture is, for a while and without signing in; null if there is none. */
  pictureUrl: string | null;
  /** Why its reader gets it. */
  why: string;
  /** Somebody tries the report. */
  isTest: boolean;
};

/** A tile as texts. */
export type ReportSection = {
  title: string;
  /** "12,345"; null for tiles that aren't one number. */
  value: string | null;
  /** "12% more than the week before (11,020)". */
  change: string | null;
  /** Texts above the columns; empty if there is no table. */
  head: string[];
  rows: string[][];
  /** Markdown. */
  text: string | null;
  /** Why there is nothing to show. */
  note: string | null;
};

type ReportedTile = {
  id: string;
  type: string;
  title: string;
  data: TileData | null;
  before: TileData | null;
  problem: string | null;
};
