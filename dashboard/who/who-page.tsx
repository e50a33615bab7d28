import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Building2, Link2Off, Newspaper, UserRound, UserRoundX } from "lucide-react";
import { type ReactNode, useMemo } from "react";
import { countedTitle, countedWords } from "../../server/schemas/group-texts.ts";
import { SaveAsCohort } from "../cohorts/save-as-cohort.tsx";
import { countOf } from "../components/counts.ts";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { labelOf, searchableIn } from "../feed/filters.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { timeLabel } from "../time-range/time-label.ts";
import { type TimeFilter, timeIn, withoutTime } from "../time-range/time-range.ts";
import { TimeRangePicker } from "../time-range/time-range-picker.tsx";
import { useColumns } from "../users/columns.ts";
import { UserTable } from "../users/user-table.tsx";
import { conditionsOf, whyNotSaved } from "./cohort-of-question.ts";
import { countedUsersQuery } from "./counted-users.ts";
import { addressOf, eventText, perOf, type Question, questionIn, titleOf } from "./question.ts";
import { WhoEvents } from "./who-events.tsx";
import { WhoGroups } from "./who-groups.tsx";

/** The users or groups, and the events, that a number of a chart counts. Its address says which, so it can be shared. */
export function WhoPage() {
  const project = useProjectSlug();
  const search: Record<string, string> = useSearch({ strict: false });
  const text = JSON.stringify(search);
  const question = useMemo(() => questionIn(JSON.parse(text)), [text]);
  if (question)
    return <Counted project={project} question={question} showsEvents={search.show === "events"} />;
  return (
    <>
      <PageHeader title="Users" />
      <EmptyState
        icon={<Link2Off aria-hidden />}
        title="This link isn't complete"
        action={
          <Link to="/p/$project/boards" params={{ project }} className={buttonClass()}>
            Boards
          </Link>
        }
      >
        It doesn't say whose users to list. Ask for it again, or click on a number of a board.
      </EmptyState>
    </>
  );
}

type CountedProps = { project: string; question: Question; showsEvents: boolean };

function Counted({ project, question, showsEvents }: CountedProps) {
  const navigate = useNavigate();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage, isFetching } =
    useInfiniteQuery(countedUsersQuery(project, question));
  const users = data?.pages.flatMap((page) => page.users);
  const groups = data?.pages.flatMap((page) => page.groups ?? []);
  const per = perOf(question);
  const counted = per === undefined ? users : groups;
  const [one, several] = countedWords(per);
  const columns = useColumns(project, users ?? []);
  const total = data?.pages[0]?.total;
  const title = titleOf(question);
  const tab = (isEvents: boolean, Icon: typeof UserRound, label: string) => {
    const content = (
      <>
        <Icon aria-hidden className="size-3.5" />
        {label}
      </>
    );
    // The router marks the one that is shown.
    const about = { className: tabClass, activeOptions: { exact: true } };
    // All events of a search are the feed's, which knows no properties of users.
    return isEvents && question.of === "events" && !question.property ? (
      <Link to="/p/$project" params={{ project }} search={question.filters} {...about}>
        {content}
      </Link>
    ) : (
      <Link
        to="/p/$project/who"
        params={{ project }}
        search={{ ...addressOf(question), ...(isEvents && { show: "events" }) }}
        {...about}
      >
        {content}
      </Link>
    );
  };
  return (
    <>
      <PageHeader title={title} />
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-line border-b px-4 py-2 md:px-5">
        <nav aria-label="What is listed" className="flex gap-1">
          {tab(false, per === undefined ? UserRound : Building2, countedTitle(per))}
          {tab(true, Newspaper, "Events")}
        </nav>
        <p className="min-w-0 flex-1 text-muted text-sm" aria-live="polite">
          {total !== undefined && <b className="font-medium text-ink">{countOf(total, one, several)}</b>}
          {question.of === "events" ? (
            <Filters question={question} />
          ) : (
            ` · ${timeLabel({ from: question.from, to: question.to }, Date.now())}`
          )}
        </p>
        {/* A cohort is made of people. */}
        {total !== undefined && per === undefined && (
          <SaveAsCohort
            conditions={() => conditionsOf(project, question)}
            disabledBecause={whyNotSaved(question, total)}
          />
        )}
        {question.of === "events" && (
          <TimeRangePicker
            time={timeIn(question.filters)}
            change={(time: TimeFilter) =>
              void navigate({
                to: ".",
                search: addressOf({
                  ...question,
                  filters: { ...withoutTime(question.filters), ...(time as Record<string, string>) },
                }),
              })
            }
          />
        )}
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto" aria-busy={isFetching}>
        {error && !counted ? (
          <ErrorState
            title={`The ${several} couldn't be listed`}
            error={error}
            retry={() => void refetch()}
          />
        ) : !counted || !users || !groups ? (
          <div className="flex flex-col gap-3 p-5">
            <Skeleton className="h-8" />
            <Skeleton className="h-8" />
            <Skeleton className="h-8" />
          </div>
        ) : counted.length === 0 && per !== undefined ? (
          <EmptyState icon={<Building2 aria-hidden />} title="None">
            No {one} is counted here. Events count for the {one} that a tag{" "}
            <code className="hostile font-mono text-xs">{per}</code> names, or else for those of their user.
          </EmptyState>
        ) : counted.length === 0 ? (
          <EmptyState icon={<UserRoundX aria-hidden />} title="Nobody">
            No user is counted here. Events without a <code className="font-mono text-xs">userId</code> have
            none.
          </EmptyState>
        ) : (
          <>
            {showsEvents ? (
              <WhoEvents
                project={project}
                events={counted.map(({ event }) => event)}
                note={`Each ${one} has one event here: ${eventText(question)}.`}
              />
            ) : per !== undefined ? (
              <WhoGroups project={project} type={per} groups={groups} />
            ) : (
              <UserTable
                project={project}
                users={users}
                columns={columns.shown}
                faded={false}
                counted={new Map(users.map(({ userId, event }) => [userId, event]))}
              />
            )}
            {hasNextPage && (
              <div className="flex justify-center p-6">
                <Button busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
                  Show more
                </Button>
              </div>
            )}
          </>
        )}
      </div>
    </>
  );
}

const tabClass =
  "flex h-8 items-center gap-1.5 rounded-md px-2.5 text-muted text-sm hover:bg-hover hover:text-ink " +
  "aria-[current=page]:bg-pressed aria-[current=page]:font-medium aria-[current=page]:text-ink max-md:h-10";

/** The filters of a search, in words. */
function Filters({ question }: { question: Extract<Question, { of: "events" }> }): ReactNode {
  return Object.entries(searchableIn(question.filters)).map(([key, value]) => (
    <span key={key}>
      {" · "}
      {key !== "q" && `${labelOf(key)} `}
      <span className="hostile text-ink">{value}</span>
    </span>
  ));
}
