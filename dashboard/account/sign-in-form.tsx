import { useMutation, useQuery } from "@tanstack/react-query";
import { KeyRound, LogIn } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import { ApiError, api, errorMessage } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { Field } from "../components/ui/field.tsx";
import { Alert } from "../components/ui/states.tsx";
import { signInOptionsQuery } from "./account-query.ts";
import { passkeyObstacle, signInWithPasskey } from "./webauthn.ts";

type SignInFormProps = {
  /** The address of whoever signs in again; without it, the form asks. */
  email?: string;
  /** The OpenID Connect provider returns to this path. */
  next: string;
  onDone: () => void;
  /** Links below the password, and below everything. */
  children?: ReactNode;
  footer?: ReactNode;
  /** Whether the OpenID Connect provider led back, and the account has a second factor. */
  asksForCode?: boolean;
  /** An error from before the form, such as the provider's. */
  notice?: string | undefined;
};

/** All ways to sign in: password and second factor, passkey, OpenID Connect. */
export function SignInForm({
  email: knownEmail,
  next,
  onDone,
  children,
  footer,
  asksForCode = false,
  notice,
}: SignInFormProps) {
  const [needsCode, setNeedsCode] = useState(asksForCode);
  const [tooLate, setTooLate] = useState<string>();
  if (needsCode) {
    return (
      <CodeForm
        onDone={onDone}
        onExpired={(reason) => {
          setTooLate(reason);
          setNeedsCode(false);
        }}
      />
    );
  }
  return (
    <div className="flex flex-col gap-5">
      <PasswordForm
        {...(knownEmail !== undefined && { knownEmail })}
        notice={tooLate ?? notice}
        onDone={(twoFactor) => (twoFactor ? setNeedsCode(true) : onDone())}
      >
        {children}
      </PasswordForm>
      <OtherWays next={next} onDone={onDone} />
      {footer}
    </div>
  );
}

type PasswordFormProps = {
  knownEmail?: string;
  notice: string | undefined;
  onDone: (needsCode: boolean) => void;
  children?: ReactNode;
};

function PasswordForm({ knownEmail, notice, onDone, children }: PasswordFormProps) {
  const [email, setEmail] = useState(knownEmail ?? "");
  const [password, setPassword] = useState("");
  const signIn = useMutation({
    mutationFn: () =>
      api<{ twoFactorRedirect?: boolean }>("/api/auth/sign-in/email", {
        method: "POST",
        body: { email, password },
      }),
    onSuccess: ({ twoFactorRedirect }) => onDone(twoFactorRedirect === true),
  });
  const error = signIn.error ? errorMessage(signIn.error) : notice;
  return (
    <form onSubmit={(event) => submitAlone(event, () => signIn.mutate())} className="flex flex-col gap-4">
      {error && <Alert>{error}</Alert>}
      {knownEmail === undefined ? (
        <Field
          label="Email"
          type="email"
          name="email"
          autoComplete="username"
          required
          autoFocus
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
      ) : (
        <>
          <p className="hostile text-sm">{knownEmail}</p>
          <input type="hidden" autoComplete="username" value={knownEmail} readOnly />
        </>
      )}
      <Field
        label="Password"
        type="password"
        name="password"
        autoComplete="current-password"
        required
        value={password}
        onChange={(event) => setPassword(event.target.value)}
      />
      {children}
      <Button variant="solid" size="lg" type="submit" busy={signIn.isPending} className="mt-1">
        Sign in
      </Button>
    </form>
  );
}

/** Asks for the second factor. */
function CodeForm({ onDone, onExpired }: { onDone: () => void; onExpired: (reason: string) => void }) {
  const [code, setCode] = useState("");
  const [isRecovery, setIsRecovery] = useState(false);
  const verify = useMutation({
    mutationFn: () =>
      api(`/api/auth/two-factor/verify-${isRecovery ? "backup-code" : "totp"}`, {
        method: "POST",
        body: { code: isRecovery ? code.trim() : code.replaceAll(/\s/g, "") },
      }),
    onSuccess: onDone,
    onError(error) {
      if (error instanceof ApiError && error.code === "sign-in-needed") onExpired(error.detail);
      setCode("");
    },
  });
  return (
    <form onSubmit={(event) => submitAlone(event, () => verify.mutate())} className="flex flex-col gap-4">
      {verify.error && <Alert>{errorMessage(verify.error)}</Alert>}
      <Field
        key={isRecovery ? "recovery" : "code"}
        label={isRecovery ? "Recovery code" : "Code from your authenticator app"}
        hint={isRecovery ? "One of the codes that you saved. Each works once." : "Six digits."}
        autoComplete={isRecovery ? "off" : "one-time-code"}
        inputMode={isRecovery ? "text" : "numeric"}
        autoCapitalize="none"
        spellCheck={false}
        required
        autoFocus
        value={code}
        onChange={(event) => setCode(event.target.value)}
      />
      <Button variant="solid" size="lg" type="submit" busy={verify.isPending}>
        Continue
      </Button>
      <Button
        variant="ghost"
        onClick={() => {
          verify.reset();
          setCode("");
          setIsRecovery(!isRecovery);
        }}
      >
        {isRecovery ? "Use your authenticator app" : "Use a recovery code"}
      </Button>
    </form>
  );
}

function OtherWays({ next, onDone }: { next: string; onDone: () => void }) {
  const { data: options } = useQuery(signInOptionsQuery);
  const passkey = useMutation({ mutationFn: signInWithPasskey, onSuccess: onDone });
  const provider = useMutation({
    mutationFn: () => api<{ url: string }>("/api/sign-in/provider", { method: "POST", body: { next } }),
    onSuccess: ({ url }) => location.assign(url),
  });
  if (!options) return null;
  const hasPasskeys = passkeyObstacle(options.passkeyHost) === null;
  if (!hasPasskeys && options.provider === null) return null;
  const error = passkey.error ?? provider.error;
  return (
    <div className="flex flex-col gap-3">
      <div className="flex items-center gap-3 text-faint text-xs before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
        or
      </div>
      {error && <Alert>{errorMessage(error)}</Alert>}
      {hasPasskeys && (
        <Button size="lg" busy={passkey.isPending} onClick={() => passkey.mutate()}>
          {!passkey.isPending && <KeyRound aria-hidden className="size-4" />}
          Sign in with a passkey
        </Button>
      )}
      {options.provider !== null && (
        <Button size="lg" busy={provider.isPending} onClick={() => provider.mutate()}>
          {!provider.isPending && <LogIn aria-hidden className="size-4" />}
          <span className="hostile-line">Continue with {options.provider}</span>
        </Button>
      )}
    </div>
  );
}

/** React may nest a dialog's form in another form; that form must not be submitted. */
function submitAlone(event: FormEvent, submit: () => void): void {
  event.preventDefault();
  event.stopPropagation();
  submit();
}
