import type { Delivery } from "../../server/schemas/delivery.ts";
import { formatDate } from "../components/dates.ts";

/** Why it was skipped or collected. */
export function DeliveryReason({
  delivery: { reason, state, until, digest, nextAttemptAt, detail },
}: {
  delivery: Delivery;
}) {
  if (reason === null) return null;
  const isMade = digest !== null || nextAttemptAt === null;
  const texts: Record<NonNullable<Delivery["reason"]>, string> = {
    level: "Their setting here is “Nothing”",
    muted: until ? `Muted until ${formatDate(until, "soon")}` : "Muted until unmuted",
    "quiet-hours":
      state === "skipped"
        ? `Quiet hours${until ? ` until ${formatDate(until, "soon")}` : ""}`
        : isMade
          ? "Quiet hours: sent together with others afterwards"
          : `Quiet hours: comes together with others at ${formatDate(nextAttemptAt, "soon")}`,
    "email-digest": isMade
      ? "Sent in a digest"
      : `Comes with the digest at ${formatDate(nextAttemptAt, "soon")}`,
    unsubscribed: "Unsubscribed from this project's email",
    "email-unverified": "Nobody has confirmed this address: it gets no email",
    "email-quota": isMade
      ? "Too many emails in an hour: sent in a digest"
      : `Too many emails in an hour: comes with a digest at ${formatDate(nextAttemptAt, "soon")}`,
    silenced: `${detail ?? "Silenced"}${until ? ` (until ${formatDate(until, "soon")})` : ""}`,
    "hourly-limit": "Over the destination's limit of messages in an hour: held back",
  };
  return <p className="hostile text-xs">{texts[reason]}</p>;
}
