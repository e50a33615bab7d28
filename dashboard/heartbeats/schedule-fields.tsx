import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { limits } from "../../server/core/limits.ts";
import type { HeartbeatSchedule } from "../../server/schemas/heartbeat.ts";
import { errorMessage } from "../api.ts";
import { formatDate } from "../components/dates.ts";
import { Choice, Choices, Field } from "../components/ui/field.tsx";
import { TimeZoneField } from "../components/ui/time-zone-field.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { type HeartbeatForm, scheduleOf } from "./heartbeat-form.ts";
import { scheduleQuery } from "./heartbeats.ts";
import { LengthFields } from "./length-fields.tsx";

const types: Record<HeartbeatSchedule["type"], { label: string; hint: string }> = {
  period: { label: "Period", hint: "The time from one ping to the next" },
  cron: { label: "Cron", hint: "The times at which cron runs the job" },
};

type Props = { form: HeartbeatForm; change: (changed: Partial<HeartbeatForm>) => void };

/** When pings are expected, with the next times of a cron expression. */
export function ScheduleFields({ form, change }: Props) {
  return (
    <>
      <Choices label="Schedule" className="sm:grid-cols-2">
        {(Object.keys(types) as HeartbeatSchedule["type"][]).map((each) => (
          <Choice
            key={each}
            type="radio"
            name="schedule"
            {...types[each]}
            checked={form.type === each}
            onChange={() => change({ type: each })}
          />
        ))}
      </Choices>
      {form.type === "period" ? (
        <LengthFields
          label="A ping every"
          member="schedule/minutes"
          value={form.period}
          min={1}
          change={(period) => change({ period })}
        />
      ) : (
        <>
          <div className="grid gap-x-2 gap-y-4 sm:grid-cols-2">
            <Field
              label="Cron expression"
              value={form.expression}
              onChange={(event) => change({ expression: event.target.value })}
              required
              maxLength={limits.cronCharacters}
              placeholder="30 2 * * *"
              hint="Minute, hour, day, month, weekday"
              className="font-mono [&>label]:font-sans [&>p]:font-sans"
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              member="schedule/expression"
            />
            <TimeZoneField
              label="Time zone"
              member="schedule/timeZone"
              value={form.timeZone}
              change={(timeZone) => change({ timeZone })}
            />
          </div>
          <NextTimes schedule={scheduleOf(form)} />
        </>
      )}
    </>
  );
}

/** How long nothing was typed before the times are updated. */
const typingMs = 300;

function NextTimes({ schedule }: { schedule: HeartbeatSchedule | null }) {
  const project = useProjectSlug();
  const json = JSON.stringify(schedule);
  const [typed, setTyped] = useState(json);
  useEffect(() => {
    const timer = setTimeout(() => setTyped(json), typingMs);
    return () => clearTimeout(timer);
  }, [json]);
  const { data, error } = useQuery({
    ...scheduleQuery(project, JSON.parse(typed) as HeartbeatSchedule | null),
    placeholderData: keepPreviousData,
  });
  return (
    <section
      aria-label="Next times"
      className="flex flex-col gap-1.5 rounded-md border border-line bg-canvas px-3 py-2 text-sm"
    >
      <div role="status" className="hostile">
        {schedule === null ? (
          <p className="text-muted">Enter an expression to see its next times.</p>
        ) : error ? (
          <p className="text-danger">{errorMessage(error)}</p>
        ) : data ? (
          <>
            <p className="font-medium">Next times</p>
            <ul className="text-muted text-xs leading-5">
              {data.map((time) => (
                <li key={time}>
                  <time dateTime={time}>{formatDate(time, "soon")}</time>
                </li>
              ))}
            </ul>
          </>
        ) : (
          <p className="text-muted">Looking for its next times…</p>
        )}
      </div>
    </section>
  );
}
