/** A made-up shop that sells coffee: what its application, its servers and its people would report. */

type SeedEvent = {
  channel: string;
  name: string;
  createdAt: number;
  userId?: string;
  icon?: string;
  notify?: boolean;
  tags?: Record<string, string>;
  description?: string;
};

type Kind = {
  channel: string;
  /** Events of this kind on an average day. */
  perDay: number;
  /** Happens by day, as people are awake, rather than around the clock. */
  byDay?: boolean;
  make: (draw: Draw) => Omit<SeedEvent, "channel" | "createdAt">;
};

const channels = [
  { name: "orders", icon: "🛒" },
  { name: "payments", icon: "💰" },
  { name: "signups", icon: "👋" },
  { name: "logins", icon: "🔑" },
  { name: "shipping", icon: "📦" },
  { name: "support", icon: "💬" },
  { name: "deployments", icon: "🚀" },
  { name: "backups", icon: "💾" },
  { name: "errors", icon: "🔥" },
];

const countries = ["DE", "FR", "US", "GB", "NL", "SE", "JP", "BR"];
const plans = ["free", "pro", "team"];
const products = [
  "Espresso No. 4",
  "Filter Blend",
  "Decaf Huila",
  "Geisha Reserve",
  "Hand grinder",
  "Pour-over set",
];
const carriers = ["DHL", "UPS", "PostNL", "La Poste"];
const services = ["shop-web", "checkout", "search", "mailer"];

const kinds: Kind[] = [
  {
    channel: "orders",
    perDay: 120,
    byDay: true,
    make: (draw) => ({
      name: "Order placed",
      icon: "🛒",
      userId: draw.user(),
      tags: { product: draw.of(products), quantity: String(draw.int(1, 4)), country: draw.of(countries) },
    }),
  },
  {
    channel: "payments",
    perDay: 110,
    byDay: true,
    make: (draw) => {
      const amount = (draw.int(900, 19_000) / 100).toFixed(2);
      const tags = {
        amount,
        currency: "EUR",
        method: draw.of(["card", "card", "paypal", "sepa"]),
        plan: draw.of(plans),
      };
      if (draw.chance(0.06)) {
        return {
          name: "Payment failed",
          icon: "⚠️",
          userId: draw.user(),
          notify: true,
          tags: { ...tags, reason: draw.of(["card_declined", "insufficient_funds", "expired_card"]) },
        };
      }
      return {
        name: "Payment received",
        icon: "💰",
        userId: draw.user(),
        notify: Number(amount) > 150,
        tags,
      };
    },
  },
  {
    channel: "signups",
    perDay: 28,
    byDay: true,
    make: (draw) => ({
      name: "Account created",
      icon: "👋",
      userId: draw.user(),
      tags: {
        plan: draw.of(plans),
        source: draw.of(["search", "newsletter", "friend", "podcast"]),
        country: draw.of(countries),
      },
    }),
  },
  {
    channel: "logins",
    perDay: 170,
    byDay: true,
    make: (draw) => ({
      name: draw.chance(0.05) ? "Sign-in failed" : "Signed in",
      icon: "🔑",
      userId: draw.user(),
      tags: { device: draw.of(["phone", "phone", "laptop", "tablet"]), country: draw.of(countries) },
    }),
  },
  {
    channel: "shipping",
    perDay: 90,
    byDay: true,
    make: (draw) => ({
      name: draw.of(["Parcel handed over", "Parcel delivered", "Parcel delivered", "Parcel delayed"]),
      icon: "📦",
      userId: draw.user(),
      tags: { carrier: draw.of(carriers), country: draw.of(countries) },
    }),
  },
  {
    channel: "support",
    perDay: 9,
    byDay: true,
    make: (draw) => ({
      name: "Ticket opened",
      icon: "💬",
      userId: draw.user(),
      notify: draw.chance(0.4),
      tags: {
        topic: draw.of(["delivery", "refund", "grind size", "invoice"]),
        priority: draw.of(["low", "normal", "high"]),
      },
      description: draw.of([
        "My parcel says **delivered**, but the neighbours have not seen it either.",
        "Could you grind the next one for a *moka pot*? The last bag was for filter.",
        "The invoice is missing our VAT number:\n\n- company: Nordlicht GmbH\n- order: see above",
      ]),
    }),
  },
  {
    channel: "deployments",
    perDay: 4,
    byDay: true,
    make: (draw) => {
      const service = draw.of(services);
      return {
        name: "Deployed to production",
        icon: "🚀",
        notify: true,
        tags: {
          service,
          version: `2.${draw.int(10, 48)}.${draw.int(0, 9)}`,
          by: draw.of(["mira", "jonas", "aiko"]),
        },
        description: `Rolled out **${service}** to all regions.\n\n\`\`\`\nhealthy 6/6, p95 ${draw.int(60, 140)} ms\n\`\`\``,
      };
    },
  },
  {
    channel: "backups",
    perDay: 4,
    make: (draw) => ({
      name: "Backup done",
      icon: "💾",
      tags: {
        database: draw.of(["shop", "search"]),
        size: `${draw.int(38, 44)} GB`,
        seconds: String(draw.int(90, 260)),
      },
    }),
  },
  {
    channel: "errors",
    perDay: 7,
    make: (draw) => ({
      name: draw.of(["Upstream timed out", "Queue is behind", "Disk is almost full"]),
      icon: "🔥",
      notify: true,
      tags: { service: draw.of(services), severity: draw.of(["warning", "warning", "critical"]) },
    }),
  },
];

/** Chances that come out the same each time, so that two seeded databases look alike. */
class Draw {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** From 0 to 1, exclusive; mulberry32 (https://gist.github.com/tommyettinger/46a874533244883189143505d203312c). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  /** A whole number from `low` to `high`, both inclusive. */
  int(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.int(0, choices.length - 1)]!;
  }

  /** A customer; a few come often. */
  user(): string {
    return `cus_${Math.floor(1_000 + 900 * this.next() ** 2)}`;
  }
}

const dayMs = 24 * 60 * 60 * 1_000;

/** The shop's events, oldest first, up to now. */
export function createShop(nowMs: number, days: number): { channels: typeof channels; events: SeedEvent[] } {
  const draw = new Draw(4_242);
  const events: SeedEvent[] = [];
  for (let day = 0; day < days; day++) {
    const startMs = nowMs - (days - day) * dayMs;
    const weekday = new Date(startMs).getUTCDay();
    const busy = (weekday === 0 || weekday === 6 ? 0.6 : 1) * (0.8 + (0.4 * day) / days);
    for (const kind of kinds) {
      const count = Math.round(kind.perDay * busy * (0.8 + 0.4 * draw.next()));
      for (let index = 0; index < count; index++) {
        const createdAt = kind.byDay ? awake(startMs, draw) : Math.floor(startMs + draw.next() * dayMs);
        events.push({ channel: kind.channel, createdAt, ...kind.make(draw) });
      }
    }
  }
  return { channels, events: events.sort((a, b) => a.createdAt - b.createdAt) };
}

/** A moment of the day at which people are rather awake (in UTC). */
function awake(startMs: number, draw: Draw): number {
  for (;;) {
    const ms = Math.floor(startMs + draw.next() * dayMs);
    const hour = new Date(ms).getUTCHours();
    if (draw.chance(hour >= 7 && hour <= 21 ? 1 : 0.15)) return ms;
  }
}
