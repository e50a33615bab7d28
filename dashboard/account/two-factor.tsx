import { useMutation } from "@tanstack/react-query";
import { ShieldCheck } from "lucide-react";
import { useState } from "react";
import { api, errorMessage } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { CodeBlock } from "../components/ui/code-block.tsx";
import { Field } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { Alert } from "../components/ui/states.tsx";
import { refresh } from "../queries.ts";
import { Panel } from "../settings/group.tsx";
import { accountQuery, sessionsQuery, useAccount } from "./account-query.ts";
import { PasswordDialog } from "./password-dialog.tsx";
import { QrCode } from "./qr-code.tsx";
import { RecoveryCodes } from "./recovery-codes.tsx";

type Setup = { totpURI: string; backupCodes: string[] };

export function TwoFactor() {
  const { twoFactorEnabled } = useAccount();
  const [dialog, setDialog] = useState<"enable" | "codes" | "disable" | null>(null);
  const close = () => setDialog(null);
  return (
    <>
      {twoFactorEnabled ? (
        <Panel>
          <div className="flex min-h-14 flex-wrap items-center gap-x-3 gap-y-2 px-4 py-2.5">
            <ShieldCheck aria-hidden className="size-4 shrink-0 text-good" />
            <p className="min-w-0 flex-1 font-medium">On</p>
            <Button onClick={() => setDialog("codes")}>New recovery codes…</Button>
            <Button variant="danger" onClick={() => setDialog("disable")}>
              Turn off…
            </Button>
          </div>
        </Panel>
      ) : (
        <Button className="self-start" onClick={() => setDialog("enable")}>
          Turn on…
        </Button>
      )}
      {dialog === "enable" && <EnableDialog close={close} />}
      {dialog === "codes" && <NewCodesDialog close={close} />}
      {dialog === "disable" && <DisableDialog close={close} />}
    </>
  );
}

/** The steps: the password, the code of the app, the recovery codes. */
function EnableDialog({ close }: { close: () => void }) {
  const [isOn, setIsOn] = useState(false);
  const enable = useMutation({
    mutationFn: (password: string) =>
      api<Setup>("/api/auth/two-factor/enable", { method: "POST", body: { password } }),
  });
  if (!enable.data) {
    return (
      <PasswordDialog
        title="Turn on two-factor authentication"
        description="You need an authenticator app on your phone, or a password manager that makes codes."
        action="Continue"
        mutation={enable}
        close={close}
      />
    );
  }
  if (!isOn) return <ScanDialog uri={enable.data.totpURI} onVerified={() => setIsOn(true)} close={close} />;
  return (
    <RecoveryCodes title="Two-factor authentication is on" codes={enable.data.backupCodes} close={close} />
  );
}

function ScanDialog({ uri, onVerified, close }: { uri: string; onVerified: () => void; close: () => void }) {
  const [code, setCode] = useState("");
  const verify = useMutation({
    mutationFn: () =>
      api("/api/auth/two-factor/verify-totp", { method: "POST", body: { code: code.replaceAll(/\s/g, "") } }),
    async onSuccess() {
      onVerified();
      await refresh(accountQuery.queryKey, sessionsQuery.queryKey);
    },
    onError: () => setCode(""),
  });

  return (
    <FormDialog
      title="Scan this code"
      description="With your authenticator app. Then enter the six digits that it shows."
      action="Turn on"
      busy={verify.isPending}
      submit={() => verify.mutate()}
      close={close}
    >
      <QrCode text={uri} label="QR code for your authenticator app" />
      <details className="text-sm">
        <summary className="cursor-pointer text-muted">Can't scan it?</summary>
        <div className="mt-2">
          <CodeBlock label="Key to enter in the app" code={new URL(uri).searchParams.get("secret") ?? ""} />
        </div>
      </details>
      {verify.error && <Alert>{errorMessage(verify.error)}</Alert>}
      <Field
        label="Code"
        autoComplete="one-time-code"
        inputMode="numeric"
        required
        autoFocus
        value={code}
        onChange={(event) => setCode(event.target.value)}
      />
    </FormDialog>
  );
}

function NewCodesDialog({ close }: { close: () => void }) {
  const generate = useMutation({
    mutationFn: (password: string) =>
      api<Setup>("/api/auth/two-factor/generate-backup-codes", { method: "POST", body: { password } }),
  });
  if (generate.data) {
    return <RecoveryCodes title="Your new recovery codes" codes={generate.data.backupCodes} close={close} />;
  }
  return (
    <PasswordDialog
      title="Make new recovery codes?"
      description="The codes that you saved before stop working."
      action="Make new codes"
      mutation={generate}
      close={close}
    />
  );
}

function DisableDialog({ close }: { close: () => void }) {
  const disable = useMutation({
    mutationFn: (password: string) =>
      api("/api/auth/two-factor/disable", { method: "POST", body: { password } }),
    async onSuccess() {
      await refresh(accountQuery.queryKey, sessionsQuery.queryKey);
      close();
    },
  });
  return (
    <PasswordDialog
      title="Turn off two-factor authentication?"
      description="Your password alone will be enough to sign in."
      action="Turn off"
      danger
      mutation={disable}
      close={close}
    />
  );
}
