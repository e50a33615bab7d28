/** The pages for people without a session. They are small, and the first load names only one file for all. */
export { AlertLinkPage } from "../alerts/alert-link-page.tsx";
export { InvitationPage } from "../members/invitation-page.tsx";
export { UnsubscribePage } from "../notifications/unsubscribe-page.tsx";
export { ConfirmEmailPage } from "./confirm-email-page.tsx";
export { ForgotPasswordPage } from "./forgot-password-page.tsx";
export { ResetPasswordPage } from "./reset-password-page.tsx";
export { RestoreEmailPage } from "./restore-email-page.tsx";
export { SignInPage } from "./sign-in-page.tsx";
export { SignUpPage } from "./sign-up-page.tsx";
