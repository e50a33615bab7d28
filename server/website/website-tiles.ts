import type { Tile } from "../schemas/tile.ts";
import { engagementName, pageViewName } from "../schemas/website.ts";

/** Bots are recorded, but visitors are people. */
const people = "-bot=true";
const views = `name:"${pageViewName}" ${people}`;
/** Events of pages, all of which have a device. Those that the application sends for a user don't keep a visit going. */
const activity = `device=desktop,phone,tablet ${people}`;
const entries = `${views} entry=true`;

const number = (column: number) => ({ x: 2 * column, y: 0, w: 2, h: 2 });
const third = (row: number, column: number) => ({ x: 4 * column, y: 6 + 5 * row, w: 4, h: 5 });

/** Tables of visitors by a tag, each as large as a third of the board. */
function visitorsBy(
  id: string,
  title: string,
  tag: string,
  place: ReturnType<typeof third>,
  q = views,
): Tile {
  return { id, type: "table", title, ...place, q, metric: "users", split: `tag.${tag}`, limit: 10 };
}

function visits(
  id: string,
  title: string,
  show: Extract<Tile, { type: "sessions" }>["show"],
  place: ReturnType<typeof third>,
): Tile {
  return {
    id,
    type: "sessions",
    title,
    ...place,
    q: views,
    activity,
    show,
    split: "tag.path",
    limit: 10,
  };
}

/** What the board of a website shows. */
export const websiteTiles: Tile[] = [
  visits("live", "Visitors now", "live", number(0)),
  { id: "visitors", type: "number", title: "Visitors", ...number(1), q: views, metric: "users" },
  { id: "views", type: "number", title: "Page views", ...number(2), q: views, metric: "events" },
  visits("visits", "Visits", "sessions", number(3)),
  visits("bounces", "Bounce rate", "bounceRate", number(4)),
  visits("duration", "Visit duration", "duration", number(5)),
  {
    ...{ id: "visitors-over-time", type: "line", title: "Visitors over time" },
    ...{ x: 0, y: 2, w: 12, h: 4 },
    ...{ q: views, metric: "users", limit: 5 },
  },
  visitorsBy("pages", "Pages", "path", third(0, 0)),
  visits("entry-pages", "Entry pages", "entries", third(0, 1)),
  visits("exit-pages", "Exit pages", "exits", third(0, 2)),
  visitorsBy("sources", "Sources", "source", third(1, 0), entries),
  visitorsBy("campaigns", "Campaigns", "utm_campaign", third(1, 1), entries),
  {
    ...{ id: "time-on-page", type: "table", title: "Average reading, in seconds", ...third(1, 2) },
    ...{
      q: `name:${engagementName} ${people}`,
      metric: "average",
      tag: "seconds",
      split: "tag.path",
      limit: 10,
    },
  },
  visitorsBy("countries", "Countries", "country", third(2, 0)),
  visitorsBy("devices", "Devices", "device", third(2, 1)),
  visitorsBy("browsers", "Browsers", "browser", third(2, 2)),
  {
    ...{ id: "actions", type: "table", title: "Links, downloads and forms", ...third(3, 0) },
    ...{ q: `name:"Outgoing link","File downloaded","Form sent" ${people}` },
    ...{ metric: "events", split: "name", limit: 10 },
  },
  {
    ...{ id: "missing", type: "table", title: "Pages not found", ...third(3, 1) },
    ...{ q: `name:"Page not found" ${people}`, metric: "events", split: "tag.path", limit: 10 },
  },
];
