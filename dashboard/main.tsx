import "./trusted-types.ts";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "./account/session.ts";
import { follow } from "./live/connection.ts";
import { queries } from "./queries.ts";
import { router } from "./router.tsx";
import "./shell/opener.ts";
import "./styles.css";
import "./theme/theme.ts";

// Open the stream right away, because the feed waits for it.
const project = /^\/p\/([^/]+)/.exec(location.pathname)?.[1];
if (project) follow(decodeURIComponent(project));

// The focus was on something that the page before had: a keyboard and a screen reader continue in the new page.
router.subscribe("onRendered", ({ fromLocation, hrefChanged }) => {
  if (fromLocation && hrefChanged && document.activeElement === document.body)
    document.getElementById("main")?.focus({ preventScroll: true });
});

// A click on a push notification while this tab is open.
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
