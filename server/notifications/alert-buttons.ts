import type { AlertAction } from "../schemas/alert.ts";
import type { Message } from "./message.ts";

export type AlertButton = "acknowledge" | "snooze" | "resolve";

/** The buttons of an open alert in chats: what each says, does, and says once it is done. */
export const alertButtons: Record<AlertButton, { label: string; action: AlertAction; done: string }> = {
  acknowledge: {
    label: "Acknowledge",
    action: { do: "acknowledge", minutes: null },
    done: "Acknowledged",
  },
  snooze: {
    label: "Snooze for an hour",
    action: { do: "acknowledge", minutes: 60 },
    done: "Snoozed for an hour",
  },
  resolve: { label: "Resolve", action: { do: "resolve", minutes: null }, done: "Resolved" },
};

export const allAlertButtons = Object.keys(alertButtons) as AlertButton[];

export function isAlertButton(name: string): name is AlertButton {
  return Object.hasOwn(alertButtons, name);
}

/** The buttons that are left once one was clicked. */
export function buttonsAfter(clicked: AlertButton): AlertButton[] {
  return clicked === "resolve" ? [] : ["resolve"];
}

/** The message without the links that its buttons stand for. */
export function withoutAlertLinks({ alert: _, ...message }: Message): Message {
  return message;
}
