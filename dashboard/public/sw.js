// The service worker: shows notifications that the server pushes, even while no tab is open. It caches nothing.

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => {
  let message = {};
  try {
    message = event.data?.json() ?? {};
  } catch {
    // Browsers require every push to show a notification, so an unreadable one shows a generic text.
  }
  event.waitUntil(
    self.registration.showNotification(message.title || "Tidings", {
      body: message.body || "",
      icon: "/icon-192.png",
      badge: "/badge-96.png",
      tag: message.tag,
      data: { url: message.url || "/", mute: message.mute, alert: message.alert },
      actions: message.alert ? alertActions : message.mute ? muteActions(message.mute) : [],
    }),
  );
});

/** Browsers show at most two buttons. */
const alertActions = [
  { action: "acknowledge", title: "Acknowledge" },
  { action: "resolve", title: "Resolve" },
];

function muteActions({ channel }) {
  return [
    { action: "mute-name", title: "Mute this for 2 hours" },
    { action: "mute-channel", title: `Mute ${channel} for 2 hours` },
  ];
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const { url = "/", mute, alert } = event.notification.data ?? {};
  const { action } = event;
  event.waitUntil(
    mute && action.startsWith("mute-")
      ? muteFor(action, mute)
      : alert && action !== ""
        ? changeAlert(action, alert)
        : open(url),
  );
});

/** Acknowledges or resolves an alert by the link of its message, and shows if that failed. */
async function changeAlert(action, link) {
  await act(link, { do: action }, { title: "The alert wasn't changed", tag: "alert-failed", url: link });
}

/** Mutes as the person who is signed in here, and shows if that failed. */
async function muteFor(action, { project, channel, name }) {
  const body = { project, channel, name: action === "mute-name" ? name : null, minutes: 120 };
  await act("/api/preferences/mutes", body, {
    title: "Nothing was muted",
    tag: "mute-failed",
    url: "/notifications",
  });
}

/** Sends a request, and shows a notification with the reason if it fails. */
async function act(path, body, { title, tag, url }) {
  let why = "The server can't be reached.";
  try {
    const response = await fetch(path, {
      method: "POST",
      credentials: "same-origin",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (response.ok) return;
    why =
      response.status === 401
        ? "Sign in again, then do it in the dashboard."
        : (await response.json()).detail;
  } catch {
    // The reason above holds.
  }
  await self.registration.showNotification(title, {
    body: why,
    icon: "/icon-192.png",
    badge: "/badge-96.png",
    tag,
    data: { url },
  });
}

/** Focuses an open tab and shows the page there; opens a new tab only if there is none. */
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

/** The push service replaced the subscription: register the new one. The server drops the old one on its 404 or 410. */
async function subscribeAgain(oldSubscription, newSubscription) {
  let subscription = newSubscription;
  if (!subscription) {
    const key = oldSubscription?.options.applicationServerKey ?? (await serverKey());
    subscription = await self.registration.pushManager.subscribe({
      userVisibleOnly: true,
      applicationServerKey: key,
    });
  }
  const label = await labelOf(oldSubscription?.endpoint);
  const { endpoint, keys } = subscription.toJSON();
  await fetch("/api/destinations", {
    method: "POST",
    credentials: "same-origin",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ kind: "browser", label, subscription: { endpoint, keys } }),
  });
}

async function serverKey() {
  const response = await fetch("/api/me", { credentials: "same-origin" });
  if (!response.ok) throw new Error(`Couldn't get the server's push key (${response.status})`);
  return (await response.json()).vapidPublicKey;
}

async function labelOf(endpoint) {
  const response = await fetch("/api/destinations", { credentials: "same-origin" });
  const { destinations = [] } = response.ok ? await response.json() : {};
  return destinations.find((each) => each.endpoint === endpoint)?.label ?? "This browser";
}
