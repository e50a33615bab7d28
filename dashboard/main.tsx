import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queries, session } from "./queries.ts";
import { router } from "./router.tsx";
import "./styles.css";

session.ended = () => {
  const { pathname, href } = router.state.location;
  if (pathname === "/sign-in" || pathname === "/setup") return;
  // While the first page loads, its route finds out by itself and knows whether to set up instead.
  if (router.state.status === "pending") return;
  void router.navigate({ to: "/sign-in", search: { next: href } }).then(() => queries.clear());
};

// A click on a notification, in a tab that is open already.
navigator.serviceWorker?.addEventListener("message", ({ data }) => {
  if (data?.type === "open" && typeof data.path === "string") void router.navigate({ href: data.path });
});

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
