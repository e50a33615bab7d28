import type { NewInvitationResponse } from "../../server/schemas/invitation.ts";
import { formatDate } from "../components/dates.ts";
import { Button } from "../components/ui/button.tsx";
import { CopyButton } from "../components/ui/copy-button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";

/** A new invitation's link, which is shown only once. */
export function InvitationLink({ sent, close }: { sent: NewInvitationResponse; close: () => void }) {
  const { invitation, link, emailed, detail } = sent;
  const { email, expiresAt } = invitation;
  return (
    <Dialog
      open
      wide
      onOpenChange={close}
      title={emailed ? "Invitation sent" : "Invitation link"}
      description={
        emailed
          ? `${email} gets an email with this link.`
          : email === null
            ? "Give this link to the person you invite. You won't see it again."
            : `Send this link to ${email}. You won't see it again.`
      }
    >
      <div className="flex flex-col gap-3">
        <div className="flex items-center gap-3 rounded-lg border border-accent/40 bg-accent-soft py-2 pr-2 pl-3">
          <code data-secret className="min-w-0 flex-1 select-all break-all font-mono text-sm">
            {link}
          </code>
          <CopyButton text={link} label="Copy link" />
        </div>
        <p className="hostile text-muted text-xs">
          It works once, until {formatDate(expiresAt, "dayOfYear")}.
          {email !== null && !emailed && ` No email was sent: ${detail}`}
        </p>
      </div>
      <DialogButtons>
        <Button variant="solid" onClick={close}>
          Done
        </Button>
      </DialogButtons>
    </Dialog>
  );
}
