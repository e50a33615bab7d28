import { convertRecord } from "../../server/transfer/convert-record.ts";
import { type ChannelColors, suggestedColor } from "../channels/channel-colors.ts";
import { useChannelColors } from "../channels/use-channel-colors.ts";
import { ChannelMark } from "../components/channel-mark.tsx";
import { formatDate } from "../components/dates.ts";
import { Alert } from "../components/ui/states.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { converterOf, type ImportPlan, type Sample } from "./import-file.ts";
import { faultOfSetting } from "./import-run.ts";

const shownEvents = 3;

type Fields = Record<string, unknown>;
type Converted = { number: number; event?: Fields; userId?: string; fault?: string };

function convertSample({ records }: Sample, plan: ImportPlan): Converted[] {
  const convert = converterOf(plan);
  return records.map((record) => {
    const { event, user, ...rest } = convertRecord(record, convert, plan.channel || undefined);
    const fault = rest.fault ?? (rest.setting && faultOfSetting);
    if (fault !== undefined) return { number: record.number, fault };
    return { number: record.number, ...(event && { event }), ...(user && { userId: user.userId }) };
  });
}

/** Why no event of the sample would be recorded; null if there are some. */
function faultOf(converted: Converted[]): string | null {
  const events = converted.flatMap(({ event }) => (event ? [event] : []));
  if (events.length === 0) {
    if (converted.some(({ userId }) => userId !== undefined)) return null;
    return converted.find(({ fault }) => fault)?.fault ?? "No record is an event in this format.";
  }
  if (events.every(({ channel }) => channel === undefined))
    return "No event names a channel. Enter one above.";
  if (events.every(({ name, event }) => name === undefined && event === undefined))
    return "No event has a name. Choose another format or column.";
  return null;
}

export function isReady(sample: Sample, plan: ImportPlan): boolean {
  return faultOf(convertSample(sample, plan)) === null;
}

/** The first events as they will be recorded. */
export function ImportPreview({ sample, plan }: { sample: Sample; plan: ImportPlan }) {
  const colors = useChannelColors(useProjectSlug());
  const converted = convertSample(sample, plan);
  const fault = faultOf(converted);
  if (fault !== null) return <Alert>{fault}</Alert>;
  return (
    <section aria-label="Preview">
      <h3 className="mb-1.5 font-medium text-sm">The first events</h3>
      <ul className="overflow-hidden rounded-md border border-line text-sm">
        {converted.slice(0, shownEvents).map((each) => (
          <li
            key={each.number}
            className="flex h-9 items-center gap-2 border-line border-b px-3 last:border-b-0"
          >
            <PreviewRow converted={each} colors={colors} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function PreviewRow({ converted, colors }: { converted: Converted; colors: ChannelColors }) {
  const { event, fault, userId } = converted;
  if (!event) {
    const text = fault ?? (userId === undefined ? "Left out" : `Properties of ${userId}`);
    return <span className={`hostile-line ${fault ? "text-danger" : "text-muted"}`}>{text}</span>;
  }
  const { name, event: alias, createdAt, userId: user, user_id } = event;
  const text = (value: unknown) => (value === undefined ? undefined : String(value));
  const channel = text(event.channel);
  return (
    <>
      <ChannelMark color={colors.get(channel ?? "") ?? suggestedColor(channel ?? "")} />
      <span className="hostile-line max-w-[30%] shrink-0 text-muted">{channel ?? "no channel"}</span>
      <span className="hostile-line flex-1 font-medium">{text(name ?? alias) ?? "no name"}</span>
      <span className="hostile-line max-w-[25%] text-muted max-md:hidden">{text(user ?? user_id)}</span>
      <span className="shrink-0 text-faint text-xs">{timeText(createdAt)}</span>
    </>
  );
}

function timeText(createdAt: unknown): string {
  if (createdAt === undefined) return "now";
  const ms = typeof createdAt === "number" ? createdAt : Date.parse(String(createdAt));
  return Number.isNaN(ms) ? "no valid time" : formatDate(ms, "dayAndClock");
}
