import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Delivery, Explanation } from "../../server/schemas/delivery.ts";
import { errorMessage } from "../api.ts";
import { countOf } from "../components/counts.ts";
import { formatDate } from "../components/dates.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button } from "../components/ui/button.tsx";
import { Skeleton } from "../components/ui/states.tsx";
import { DeliveryReason } from "../deliveries/delivery-reason.tsx";
import { accountKinds, DeliveryState, placeOf } from "../deliveries/delivery-state.tsx";
import { deliveriesQuery } from "./deliveries-query.ts";
import { Section } from "./event-facts.tsx";

/** Lists the event's notifications, or explains why there are none. */
export function Deliveries({ project, id }: { project: string; id: string }) {
  const { data, error, refetch } = useQuery(deliveriesQuery(project, id));
  return (
    <Section title="Notifications">
      {error ? (
        <div role="alert" className="flex items-center justify-between gap-3 text-muted text-sm">
          <span>{errorMessage(error)}</span>
          <Button onClick={() => void refetch()}>Retry</Button>
        </div>
      ) : !data || data.pending ? (
        <Skeleton className="h-10" />
      ) : (
        <>
          {data.deliveries.length === 0 && <p className="hostile text-muted text-sm">{data.silence}</p>}
          <ul className="flex flex-col">
            {data.deliveries.map((delivery) => (
              <DeliveryItem key={delivery.id} delivery={delivery} />
            ))}
          </ul>
          <Explanations
            project={project}
            explanations={data.explanations.filter(({ account, kind }) => account ?? kind)}
          />
        </>
      )}
    </Section>
  );
}

/** Explains why members and destinations have no delivery. */
function Explanations({ project, explanations }: { project: string; explanations: Explanation[] }) {
  if (explanations.length === 0) return null;
  return (
    <details className="mt-3 text-sm">
      <summary className="cursor-pointer text-muted text-xs hover:text-ink">
        Who wasn't notified, and why
      </summary>
      <ul className="mt-2 flex flex-col gap-2">
        {explanations.map(({ account, kind, label, detail, event }) => (
          <li key={`${account} ${kind} ${label}`}>
            <p className="hostile font-medium">
              {account ?? label}
              {account && kind && (
                <span className="font-normal text-muted"> · {label ?? accountKinds[kind]?.name ?? kind}</span>
              )}
            </p>
            <p className="hostile text-muted text-xs">
              {detail}
              {event && (
                <>
                  {" "}
                  <Link
                    to="/p/$project/events/$id"
                    params={{ project, id: event }}
                    className="text-accent hover:underline"
                  >
                    Open it
                  </Link>
                </>
              )}
            </p>
          </li>
        ))}
      </ul>
    </details>
  );
}

function DeliveryItem({ delivery }: { delivery: Delivery }) {
  const { icon: Icon, name } = placeOf(delivery);
  return (
    <li className="flex items-start gap-3 border-line border-b py-2.5 text-sm first:pt-0 last:border-b-0 last:pb-0">
      <Icon aria-hidden className="mt-0.5 size-4 shrink-0 text-faint" />
      <div className="min-w-0 flex-1">
        <p className="hostile">
          <span className="font-medium">{name}</span>
          {delivery.label !== name && <span className="text-muted"> · {delivery.label}</span>}
        </p>
        <p className="hostile text-muted text-xs">
          {delivery.account === null ? "a destination of the project" : `to ${delivery.account}`}
          {delivery.attempts > 0 && ` · ${countOf(delivery.attempts, "attempt")}`}
          {delivery.deliveredAt && (
            <>
              {" · "}
              <RelativeTime at={delivery.deliveredAt} form="long" />
            </>
          )}
          {delivery.readAt && " · read"}
        </p>
        {delivery.via && <p className="hostile text-muted text-xs">{delivery.via}</p>}
        <DeliveryReason delivery={delivery} />
        {delivery.detail && delivery.state !== "delivered" && delivery.reason !== "silenced" && (
          <p className="hostile mt-1 text-xs">{delivery.detail}</p>
        )}
        {delivery.state === "waiting" && delivery.nextAttemptAt && delivery.attempts > 0 && (
          <p className="text-muted text-xs">Next attempt: {formatDate(delivery.nextAttemptAt, "medium")}</p>
        )}
      </div>
      <DeliveryState state={delivery.state} />
    </li>
  );
}
