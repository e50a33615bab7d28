import type { WebhookMapping } from "../schemas/webhook.ts";

/** Currencies whose smallest unit isn't a hundredth, as Stripe counts them (https://docs.stripe.com/currencies). */
const decimals: Record<string, number> = {
  ...Object.fromEntries(
    "bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf".split(" ").map((code) => [code, 0]),
  ),
  ...Object.fromEntries("bhd jod kwd omr tnd".split(" ").map((code) => [code, 3])),
};
const amountMembers = [
  "amount_received",
  "amount_paid",
  "amount_total",
  "amount_refunded",
  "amount_due",
  "amount",
];

/**
 * What mappings of Stripe can use besides the body: `@amount`, in whole units of the currency, and `@customer`, whether
 * the sender expanded it or not.
 */
export function stripeValues(body: unknown): Record<string, string> {
  const data = memberOf(body, "data");
  const object = memberOf(data, "object");
  const currency = memberOf(object, "currency");
  const units = amountMembers.map((name) => memberOf(object, name)).find(isPositive);
  const customer = memberOf(object, "object") === "customer" ? object : memberOf(object, "customer");
  const customerId = typeof customer === "string" ? customer : memberOf(customer, "id");
  return {
    ...(units !== undefined && typeof currency === "string" && { amount: amountOf(units, currency) }),
    ...(typeof customerId === "string" && { customer: customerId }),
  };
}

function amountOf(units: number, currency: string): string {
  const digits = decimals[currency.toLowerCase()] ?? 2;
  return (units / 10 ** digits).toFixed(digits);
}

function isPositive(value: unknown): value is number {
  return typeof value === "number" && value > 0;
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

/** The common types of events (https://docs.stripe.com/api/events/types). Those that matter at once notify. */
const events: [type: string, name: string, icon: string, notify?: true][] = [
  ["payment_intent.succeeded", "Payment succeeded", "💰"],
  ["payment_intent.payment_failed", "Payment failed", "⚠️", true],
  ["charge.refunded", "Payment refunded", "↩️"],
  ["charge.dispute.created", "Dispute opened", "🚨", true],
  ["charge.dispute.closed", "Dispute closed", "⚖️"],
  ["checkout.session.completed", "Checkout completed", "🛒"],
  ["checkout.session.expired", "Checkout expired", "⌛"],
  ["customer.created", "Customer created", "👋"],
  ["customer.deleted", "Customer deleted", "👤"],
  ["customer.subscription.created", "Subscription started", "🎉"],
  ["customer.subscription.updated", "Subscription changed", "🔁"],
  ["customer.subscription.deleted", "Subscription ended", "👋"],
  ["customer.subscription.trial_will_end", "Trial ends soon", "⏳"],
  ["invoice.paid", "Invoice paid", "🧾"],
  ["invoice.payment_failed", "Invoice payment failed", "⚠️", true],
  ["payout.paid", "Payout paid", "🏦"],
  ["payout.failed", "Payout failed", "🚨", true],
];

const common: Omit<WebhookMapping, "name"> = {
  userId: "{{@customer ?? data.object.client_reference_id}}",
  createdAt: "{{created}}",
  description:
    "{{data.object.last_payment_error.message ?? data.object.failure_message ?? data.object.description}}",
  tags: {
    type: "{{type}}",
    object: "{{data.object.id}}",
    amount: "{{@amount}}",
    currency: "{{data.object.currency}}",
    status: "{{data.object.status}}",
    reason: "{{data.object.last_payment_error.code ?? data.object.failure_code ?? data.object.reason}}",
    livemode: "{{livemode}}",
  },
};

/** Other types are recorded by their type. */
export const stripeMappings: WebhookMapping[] = [
  ...events.map(([type, name, icon, notify = false]) => ({
    ...common,
    when: `type == "${type}"`,
    name,
    icon,
    notify,
  })),
  { ...common, name: "{{type}}" },
];
