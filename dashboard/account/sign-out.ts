import { useNavigate } from "@tanstack/react-router";
import { api, errorMessage } from "../api.ts";
import { closeFeeds } from "../feed/use-feed.ts";
import { queries } from "../queries.ts";
import { toast } from "../shell/toasts.tsx";
import { beginSigningOut } from "./session.ts";

export function useSignOut(): () => Promise<void> {
  const navigate = useNavigate();
  return async () => {
    beginSigningOut(true);
    try {
      await api("/api/auth/sign-out", { method: "POST", body: {} });
    } catch (error) {
      beginSigningOut(false);
      toast({ title: "You're still signed in", description: errorMessage(error), failed: true });
      return;
    }
    closeFeeds();
    (await import("../edits/drafts.ts")).removeDrafts();
    await navigate({ to: "/sign-in", search: {} });
    queries.clear();
    beginSigningOut(false);
  };
}
