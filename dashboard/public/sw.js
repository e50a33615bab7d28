// The service worker: shows notifications that the server pushes, also while no tab is open. It caches nothing.

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => {
  let message = {};
  try {
    message = event.data?.json() ?? {};
  } catch {
    // Browsers demand that every push is shown, so one that can't be read still says that there is something.
  }
  event.waitUntil(
    self.registration.showNotification(message.title || "Tidings", {
      body: message.body || "",
      icon: "/icon-192.png",
      badge: "/badge-96.png",
      tag: message.tag,
      data: { url: message.url || "/" },
    }),
  );
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data?.url || "/"));
});

/** Brings a tab that is open already to the page; opens a new one only where there is none. */
async function open(path) {
  const url = new URL(path, self.location.origin);
  if (url.origin !== self.location.origin) return;
  const tabs = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const tab = tabs.find((candidate) => candidate.url === url.href) ?? tabs[0];
  if (!tab) return self.clients.openWindow(url.href);
  await tab.focus();
  if (tab.url !== url.href) tab.postMessage({ type: "open", path: url.pathname + url.search });
}

self.addEventListener("pushsubscriptionchange", (event) => {
  event.waitUntil(subscribeAgain(event.oldSubscription, event.newSubscription));
});

/** The push service replaced the subscription: tell the server the new one. The old one dies by its 404/410. */
async function subscribeAgain(before, after) {
  let subscription = after;
  if (!subscription) {
    const key = before?.options.applicationServerKey ?? (await serverKey());
    subscription = await self.registration.pushManager.subscribe({
      userVisibleOnly: true,
      applicationServerKey: key,
    });
  }
  const label = await labelOf(before?.endpoint);
  const { endpoint, keys } = subscription.toJSON();
  await fetch("/api/destinations", {
    method: "POST",
    credentials: "same-origin",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ kind: "browser", label, subscription: { endpoint, keys } }),
  });
}

async function serverKey() {
  const answer = await fetch("/api/me", { credentials: "same-origin" });
  if (!answer.ok) throw new Error(`The server did not tell its push key (${answer.status})`);
  return (await answer.json()).vapidPublicKey;
}

async function labelOf(endpoint) {
  const answer = await fetch("/api/destinations", { credentials: "same-origin" });
  const { destinations = [] } = answer.ok ? await answer.json() : {};
  return destinations.find((each) => each.endpoint === endpoint)?.label ?? "This browser";
}
