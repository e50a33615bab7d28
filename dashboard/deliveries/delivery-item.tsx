import { Link } from "@tanstack/react-router";
import { ChevronRight, RotateCw } from "lucide-react";
import { useId, useState } from "react";
import type { Delivery } from "../../server/schemas/delivery.ts";
import { countOf } from "../components/counts.ts";
import { formatDate } from "../components/dates.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { IconButton } from "../components/ui/button.tsx";
import { RowMenu } from "../components/ui/row-menu.tsx";
import { useRetryDelivery } from "./deliveries.ts";
import { DeliveryReason } from "./delivery-reason.tsx";
import { DeliveryState, placeOf } from "./delivery-state.tsx";

type Props = {
  project: string;
  delivery: Delivery;
  /** Whether any delivery of the list has a button, so that the times of all are in a column. */
  hasActions: boolean;
};

/** A delivery. Unfolded, it shows its attempts and the service's responses. */
export function DeliveryItem({ project, delivery, hasActions }: Props) {
  const id = useId();
  const retry = useRetryDelivery(project);
  const [isOpen, setOpen] = useState(false);
  const { icon: Icon, name } = placeOf(delivery);
  const { label, account, channel, rule, state, detail, attempts } = delivery;
  const title = delivery.title ?? "Deleted event";
  const isDead = state === "dead";
  return (
    <li className="border-line border-b last:border-b-0">
      <div className="flex items-start gap-2 py-2 pr-3 pl-1.5 md:pr-4">
        <IconButton
          label={`Attempts of ${title} to ${label}`}
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={() => setOpen(!isOpen)}
          className="size-7 max-md:size-10"
        >
          <ChevronRight aria-hidden className={`size-4 transition-transform ${isOpen ? "rotate-90" : ""}`} />
        </IconButton>
        <Icon aria-hidden className="mt-1.5 size-4 shrink-0 text-faint max-md:mt-3" />
        <div className="min-w-0 flex-1 py-1 max-md:py-2">
          <p className="flex items-baseline gap-x-3 text-sm max-md:flex-wrap">
            <span className="hostile-line flex-1 font-medium max-md:basis-full">
              {delivery.event && delivery.title ? (
                <Link
                  to="/p/$project/events/$id"
                  params={{ project, id: delivery.event }}
                  search={{}}
                  className="hover:underline"
                >
                  {title}
                </Link>
              ) : (
                title
              )}
            </span>
            <DeliveryState state={state} />
            <RelativeTime
              at={delivery.createdAt}
              className="shrink-0 text-faint text-xs md:w-14 md:text-right"
            />
          </p>
          <p className="hostile text-muted text-xs">
            {[
              account === null ? label : `${name} to ${account}`,
              rule?.name && `rule ${rule.name}`,
              channel,
              attempts > 1 && countOf(attempts, "attempt"),
            ]
              .filter(Boolean)
              .join(" · ")}
          </p>
          {delivery.via && <p className="hostile text-muted text-xs">{delivery.via}</p>}
          <DeliveryReason delivery={delivery} />
          {!isOpen && detail && state !== "delivered" && delivery.reason !== "silenced" && (
            <p className={`hostile-line mt-0.5 text-xs ${isDead ? "text-danger" : "text-muted"}`}>{detail}</p>
          )}
          {isOpen && <Attempts id={id} delivery={delivery} />}
        </div>
        {hasActions && (
          <div className="md:w-8">
            <RowMenu
              name={`${title} to ${label}`}
              actions={[
                isDead && {
                  label: "Retry",
                  icon: RotateCw,
                  disabled: retry.isPending,
                  onSelect: () => retry.mutate(delivery.id),
                },
              ]}
            />
          </div>
        )}
      </div>
    </li>
  );
}

function Attempts({ id, delivery }: { id: string; delivery: Delivery }) {
  const { failures, attempts, detail, deliveredAt, nextAttemptAt, createdAt, state } = delivery;
  const isDelivered = deliveredAt !== null;
  // Earlier ones are counted, but no longer remembered.
  const forgotten = attempts - failures.length - (isDelivered ? 1 : 0);
  return (
    <ol id={id} className="mt-2 mb-1 flex flex-col gap-1.5 border-line border-l pl-3 text-xs">
      <Attempt at={createdAt}>Made</Attempt>
      {forgotten > 0 && failures.length > 0 && (
        <li className="text-faint">{countOf(forgotten, "earlier attempt")}</li>
      )}
      {failures.map(({ at, detail }) => (
        <Attempt key={at} at={at}>
          <span className="text-danger">{detail}</span>
        </Attempt>
      ))}
      {isDelivered ? (
        <Attempt at={deliveredAt}>
          <span className="text-good">{detail ?? "Delivered"}</span>
        </Attempt>
      ) : (
        failures.length === 0 && detail && <li className="hostile">{detail}</li>
      )}
      {delivery.readAt && <Attempt at={delivery.readAt}>Read</Attempt>}
      {state === "waiting" && nextAttemptAt && (
        <Attempt at={nextAttemptAt}>
          <span className="text-muted">Next attempt</span>
        </Attempt>
      )}
    </ol>
  );
}

function Attempt({ at, children }: { at: string; children: React.ReactNode }) {
  return (
    <li className="flex gap-3 max-md:flex-col max-md:gap-0">
      <time dateTime={at} className="w-44 shrink-0 text-faint">
        {formatDate(at, "medium")}
      </time>
      <span className="hostile">{children}</span>
    </li>
  );
}
