import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import type { Destination } from "../../server/schemas/account-destination.ts";
import { deviceName } from "../account/device-name.ts";
import { api } from "../api.ts";
import { refresh } from "../queries.ts";
import { destinationsQuery, showError } from "./destinations.ts";

/** Why this browser can't get push notifications, as a sentence; null if it can. */
export function pushObstacle(): string | null {
  if (!isSecureContext) return "Push notifications need HTTPS (or localhost).";
  if (!("serviceWorker" in navigator && "PushManager" in window && "Notification" in window)) {
    return /iP(hone|ad)/.test(navigator.userAgent)
      ? "Add Tidings to your Home Screen first."
      : "This browser doesn't support push notifications.";
  }
  if (Notification.permission === "denied") {
    return "Notifications are blocked for this site. Allow them in your browser's site settings.";
  }
  return null;
}

/** The push endpoint of this browser, or null. */
export const ownEndpointQuery = queryOptions({
  queryKey: ["push-endpoint"],
  queryFn: async () => {
    if (!("serviceWorker" in navigator)) return null;
    const registration = await navigator.serviceWorker.getRegistration("/");
    return (await registration?.pushManager?.getSubscription())?.endpoint ?? null;
  },
  staleTime: 0,
});

export function usePushSwitch(vapidPublicKey: string, own: Destination | undefined) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (on: boolean) => (on ? switchOn(vapidPublicKey) : switchOff(own)),
    onError: showError("Push notifications weren't changed"),
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ownEndpointQuery.queryKey }),
        refresh(destinationsQuery.queryKey),
      ]),
  });
}

async function switchOn(vapidPublicKey: string) {
  if ((await Notification.requestPermission()) !== "granted") {
    throw new Error("The browser didn't allow notifications.");
  }
  await navigator.serviceWorker.register("/sw.js");
  const { pushManager } = await navigator.serviceWorker.ready;
  const known = await pushManager.getSubscription();
  // A subscription for another key, for example of a server set up again, would never receive anything.
  if (known && keyOf(known) !== vapidPublicKey) await known.unsubscribe();
  const subscription = await pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: vapidPublicKey,
  });
  const { endpoint, keys } = subscription.toJSON();
  await api("/api/destinations", {
    method: "POST",
    body: { kind: "browser", label: deviceName(navigator.userAgent), subscription: { endpoint, keys } },
  });
}

async function switchOff(own: Destination | undefined) {
  const registration = await navigator.serviceWorker.getRegistration("/");
  await (await registration?.pushManager.getSubscription())?.unsubscribe();
  if (own) await api(`/api/destinations/${own.id}`, { method: "DELETE" });
}

/** The key that a subscription was made for, in base64url as the server sends it. */
function keyOf(subscription: PushSubscription): string {
  const key = subscription.options.applicationServerKey;
  if (!key) return "";
  const text = btoa(String.fromCharCode(...new Uint8Array(key)));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
