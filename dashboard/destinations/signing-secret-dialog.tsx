import { Button } from "../components/ui/button.tsx";
import { SecretBox } from "../components/ui/copy-button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";

type Props = {
  secret: string;
  /** Says what happens to the old secret. */
  note?: string;
  close: () => void;
};

/** Shows a webhook's new signing secret, for the only time. */
export function SigningSecretDialog({ secret, note, close }: Props) {
  return (
    <Dialog
      open
      wide
      onOpenChange={close}
      title="Your signing secret"
      description={[
        "Your server uses it to verify that a webhook comes from here. Copy it now. You won't see it again.",
        note,
      ]
        .filter(Boolean)
        .join(" ")}
    >
      <SecretBox secret={secret} label="Copy secret" />
      <DialogButtons>
        <Button variant="solid" onClick={close}>
          Done
        </Button>
      </DialogButtons>
    </Dialog>
  );
}
