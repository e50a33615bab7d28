import { lazyPart } from "../components/lazy-part.tsx";

type DialogProps = { close: () => void };

/** Dialogs of pages that the palette opens. Each is loaded when first opened. */
export const dialogs = {
  invite: lazyPart<DialogProps>(async () => (await import("../members/invite-dialog.tsx")).InviteDialog),
  "new-board": lazyPart<DialogProps>(
    async () => (await import("../boards/board-dialogs.tsx")).NewBoardDialog,
  ),
  "new-rule": lazyPart<DialogProps>(async () => (await import("../rules/rule-dialogs.tsx")).NewRuleDialog),
  "new-destination": lazyPart<DialogProps>(
    async () => (await import("../destinations/destination-dialogs.tsx")).AddDestinationDialog,
  ),
  "new-heartbeat": lazyPart<DialogProps>(
    async () => (await import("../heartbeats/heartbeat-dialogs.tsx")).NewHeartbeatDialog,
  ),
  "new-annotation": lazyPart<DialogProps>(
    async () => (await import("../annotations/annotation-dialogs.tsx")).NewAnnotationDialog,
  ),
  "new-silence": lazyPart<DialogProps>(
    async () => (await import("../silences/silence-dialogs.tsx")).NewSilenceDialog,
  ),
  "new-on-call-schedule": lazyPart<DialogProps>(
    async () => (await import("../on-call/schedule-dialogs.tsx")).NewScheduleDialog,
  ),
  "new-report": lazyPart<DialogProps>(
    async () => (await import("../reports/report-dialogs.tsx")).NewReportDialog,
  ),
  "new-webhook": lazyPart<DialogProps>(
    async () => (await import("../webhooks/webhook-dialogs.tsx")).NewWebhookDialog,
  ),
  "new-key": lazyPart<DialogProps>(async () => (await import("../keys/key-dialogs.tsx")).NewKeyDialog),
};

export type DialogName = keyof typeof dialogs;
