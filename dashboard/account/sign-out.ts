import { useNavigate } from "@tanstack/react-router";
import { api, sentence } from "../api.ts";
import { queries } from "../queries.ts";
import { toast } from "../shell/toasts.tsx";

export function useSignOut(): () => Promise<void> {
  const navigate = useNavigate();
  return async () => {
    try {
      await api("/api/auth/sign-out", { method: "POST", body: {} });
    } catch (error) {
      toast({ title: "You are still signed in", description: sentence(error), failed: true });
      return;
    }
    await navigate({ to: "/sign-in", search: {} });
    queries.clear();
  };
}
