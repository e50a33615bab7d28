import { useNavigate, useSearch } from "@tanstack/react-router";
import { ChevronDown, ChevronUp, ImageDown, Table2, ZoomOut } from "lucide-react";
import { type ReactNode, useId, useRef, useState } from "react";
import { useMarks } from "../annotations/use-marks.ts";
import { ApiError, errorMessage } from "../api.ts";
import { assignChannelColors } from "../channels/channel-colors.ts";
import { useChannelColors } from "../channels/use-channel-colors.ts";
import { colorsOfValues, distinctColors } from "../charts/colors.ts";
import { Legend } from "../charts/legend.tsx";
import { MarkTable } from "../charts/mark-table.tsx";
import { download } from "../charts/png.ts";
import { type ChartHandle, TimeChart, type TimeRange } from "../charts/time-chart.tsx";
import { TimeTable } from "../charts/time-table.tsx";
import { shortCount } from "../components/counts.ts";
import { IconButton } from "../components/ui/button.tsx";
import { type Filters, splitIn } from "../feed/filters.ts";
import { toast } from "../shell/toasts.tsx";
import { timeLabel } from "../time-range/time-label.ts";
import { type TimeFilter, timeIn } from "../time-range/time-range.ts";
import { TimeRangePicker } from "../time-range/time-range-picker.tsx";
import { parseSplit, type Split } from "./histogram.ts";
import { marksOf } from "./histogram-marks.ts";
import { Newer } from "./newer.tsx";
import { seriesOf } from "./series.ts";
import { SplitSelect } from "./split-select.tsx";
import { useHistogram } from "./use-histogram.ts";

export type TimelineProps = {
  project: string;
  filters: Filters;
  /** Tag keys that the bars can be split by, asked for when the list is opened. */
  tagKeys: () => string[];
  showTime: (time: TimeFilter) => void;
  isOpen: boolean;
  setOpen: (isOpen: boolean) => void;
};

/** Above the feed: the time that it shows, and how many events there were when. */
export function Timeline(props: TimelineProps) {
  const { project, filters, tagKeys, showTime, isOpen, setOpen } = props;
  const id = useId();
  const time = timeIn(filters);
  const isOneChannel = filters.channel !== undefined;
  const [split, setSplit] = useSplit(isOneChannel);
  const [isTable, setTable] = useState(false);
  /** The time range before each zoom. */
  const zooms = useRef<TimeFilter[]>([]);

  function zoomTo({ fromMs, toMs }: TimeRange) {
    zooms.current.push(time);
    showTime({ from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() });
  }

  function zoomOut() {
    if (Object.keys(time).length > 0) showTime(zooms.current.pop() ?? {});
  }

  function choose(next: TimeFilter) {
    zooms.current = [];
    showTime(next);
  }

  // In the first row, or on phones below the chart.
  const tools = (
    <>
      <SplitSelect split={split} change={setSplit} tagKeys={tagKeys} isOneChannel={isOneChannel} />
      <span className="flex-1" />
      {Object.keys(time).length > 0 && (
        <Tool label="Zoom out" onClick={zoomOut} icon={<ZoomOut aria-hidden className="size-4" />} />
      )}
      <Tool
        label="Show as table"
        onClick={() => setTable(!isTable)}
        icon={<Table2 aria-hidden className="size-4" />}
        expanded={isTable}
      />
    </>
  );

  return (
    <section aria-label="Events over time" className="shrink-0 border-line border-b">
      <div className="flex h-10 items-center gap-1 px-2.5 md:h-9 md:px-3.5">
        <TimeRangePicker time={time} change={choose} canJump />
        <Newer project={project} filters={filters} showNow={() => choose({})} />
        <span className="flex-1" />
        {isOpen && <div className="flex items-center gap-1 max-md:hidden">{tools}</div>}
        <Tool
          label="Histogram"
          onClick={() => setOpen(!isOpen)}
          icon={
            isOpen ? (
              <ChevronUp aria-hidden className="size-4" />
            ) : (
              <ChevronDown aria-hidden className="size-4" />
            )
          }
          expanded={isOpen}
          controls={id}
        />
      </div>
      {isOpen && (
        <div id={id}>
          <HistogramChart
            project={project}
            filters={filters}
            split={split}
            isTable={isTable}
            zoomTo={zoomTo}
            zoomOut={zoomOut}
          >
            <div className="flex w-full items-center md:hidden">{tools}</div>
          </HistogramChart>
        </div>
      )}
    </section>
  );
}

/** The split of the bars, in the URL: links and saved views keep it. */
function useSplit(isOneChannel: boolean): [split: Split, set: (split: Split) => void] {
  const navigate = useNavigate();
  const { split } = splitIn(useSearch({ strict: false }));
  const usual = isOneChannel ? "name" : "channel";
  function set(next: Split) {
    const chosen = next === usual ? undefined : next || "none";
    // Another look at the same events, so no step of the history.
    void navigate({ to: ".", search: (shown) => ({ ...shown, split: chosen }), replace: true });
  }
  return [parseSplit(split, isOneChannel) ?? usual, set];
}

type ToolProps = {
  label: string;
  icon: ReactNode;
  onClick: () => void;
  expanded?: boolean;
  controls?: string;
};

function Tool({ label, icon, onClick, expanded, controls }: ToolProps) {
  return (
    <IconButton
      label={label}
      title={label}
      onClick={onClick}
      {...(expanded !== undefined && { "aria-expanded": expanded })}
      {...(controls !== undefined && expanded && { "aria-controls": controls })}
      className="size-7 aria-expanded:text-ink max-md:size-10"
    >
      {icon}
    </IconButton>
  );
}

type HistogramChartProps = Pick<TimelineProps, "project" | "filters"> & {
  split: Split;
  isTable: boolean;
  zoomTo: (range: TimeRange) => void;
  zoomOut: () => void;
  children: ReactNode;
};

const chartPx = 80;
const none: ReadonlySet<string> = new Set();

function HistogramChart({
  project,
  filters,
  split,
  isTable,
  zoomTo,
  zoomOut,
  children,
}: HistogramChartProps) {
  const { histogram, error, isStale, reload } = useHistogram(project, filters, split);
  // The feed says it too, and trying again doesn't help.
  const isMistake = error instanceof ApiError && error.code === "query-invalid";
  const chart = useRef<ChartHandle>(null);
  const [hiddenOf, setHiddenOf] = useState({ split, keys: none });
  const hidden = hiddenOf.split === split ? hiddenOf.keys : none;
  const channelColors = useChannelColors(project);

  const values = histogram?.series.flatMap(({ value }) => (value === null ? [] : [value])) ?? [];
  const colorsShown =
    split === "channel"
      ? distinctColors(values, assignChannelColors(values, channelColors))
      : colorsOfValues(`${project} ${split}`, values);
  const series = histogram ? seriesOf(histogram, split, colorsShown) : [];
  const shown = series.filter(({ key }) => !hidden.has(key));
  const isEmpty = histogram?.starts.length === 0;
  const isLastPartial = histogram !== null && !isEmpty && histogram.endMs > Date.now();
  const total = series.reduce((sum, each) => sum + each.total, 0);
  const time = timeLabel(timeIn(filters), Date.now());
  const { marks, omitted } = useMarks(
    histogram && !isEmpty ? marksOf(project, histogram, isLastPartial) : null,
  );

  function toggle(key: string) {
    const keys = new Set(hidden);
    if (!keys.delete(key)) keys.add(key);
    setHiddenOf({ split, keys });
  }

  async function save() {
    try {
      download(await chart.current!.toPng(`Events, ${time}`), "events.png");
    } catch (thrown) {
      toast({ title: "The picture couldn't be saved", description: errorMessage(thrown), failed: true });
    }
  }

  return (
    <>
      <div aria-busy={isStale} className="relative h-20 pr-2 pl-1 aria-busy:opacity-50 md:pr-3">
        {histogram && !isEmpty ? (
          <TimeChart
            ref={chart}
            label={`Events over time, ${time}`}
            kind="bars"
            isStacked
            isLastPartial={isLastPartial}
            starts={histogram.starts}
            endMs={histogram.endMs}
            series={shown}
            height={chartPx}
            annotations={marks}
            onSelect={zoomTo}
            onZoomOut={zoomOut}
          />
        ) : (
          error !== null &&
          !isMistake &&
          !isEmpty && (
            <div
              role="alert"
              className="flex h-full items-center justify-center gap-2 px-4 text-muted text-sm md:px-5"
            >
              <span className="hostile">{errorMessage(error)}</span>
              <button type="button" onClick={reload} className="font-medium text-accent">
                Retry
              </button>
            </div>
          )
        )}
        {histogram && total === 0 && (
          <p className="pointer-events-none absolute inset-0 flex items-center justify-center pb-5 text-faint text-xs">
            {isEmpty ? "No events" : "No events in this time range"}
          </p>
        )}
      </div>
      <div className="flex min-h-20 items-start px-2.5 max-md:flex-col md:min-h-7 md:px-3.5">
        {children}
        <div className="flex w-full min-w-0 items-start gap-1">
          <div className="max-h-36 min-w-0 flex-1 overflow-y-auto md:max-h-12">
            <Legend
              items={series.map(({ key, name, color, total: count }) => ({
                key,
                name,
                color,
                total: shortCount(count),
              }))}
              hidden={hidden}
              toggle={toggle}
            />
          </div>
          {histogram && !isEmpty && (
            <Tool
              label="Save as image"
              onClick={save}
              icon={<ImageDown aria-hidden className="size-3.5" />}
            />
          )}
        </div>
      </div>
      {isTable && histogram && (
        <section
          aria-label="Events over time, as a table"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
          tabIndex={0}
          className="max-h-60 overflow-auto border-line border-t px-4 py-2 outline-offset-[-2px] md:px-5"
        >
          <TimeTable
            caption={`Events, ${time}. Times without events are left out.`}
            starts={histogram.starts}
            endMs={histogram.endMs}
            series={series}
            isLastPartial={isLastPartial}
          />
          <MarkTable marks={marks} omitted={omitted} project={project} />
        </section>
      )}
    </>
  );
}
