/** A made-up coffee shop: what its application, servers and staff would report. */

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
  /** Happens in the daytime, rather than around the clock. */
  inDaytime?: boolean;
  make: (random: Random) => Omit<SeedEvent, "channel" | "createdAt">;
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
const firstNames = [
  "Ada",
  "Ben",
  "Chloé",
  "Daan",
  "Elif",
  "Freya",
  "Hiro",
  "Inês",
  "Jonas",
  "Leila",
  "Mira",
  "Oskar",
];
const lastNames = [
  "Almeida",
  "Berg",
  "de Vries",
  "Fischer",
  "Laurent",
  "Lindqvist",
  "Okafor",
  "Sato",
  "Smith",
  "Yılmaz",
];
const carriers = ["DHL", "UPS", "PostNL", "La Poste"];
const services = ["shop-web", "checkout", "search", "mailer"];

const kinds: Kind[] = [
  {
    channel: "orders",
    perDay: 120,
    inDaytime: true,
    make: (random) => ({
      name: "Order placed",
      icon: "🛒",
      userId: random.user(),
      tags: {
        product: random.pick(products),
        quantity: String(random.int(1, 4)),
        country: random.pick(countries),
      },
    }),
  },
  {
    channel: "payments",
    perDay: 110,
    inDaytime: true,
    make: (random) => {
      const amount = (random.int(900, 19_000) / 100).toFixed(2);
      const tags = {
        amount,
        currency: "EUR",
        method: random.pick(["card", "card", "paypal", "sepa"]),
        plan: random.pick(plans),
      };
      if (random.chance(0.06)) {
        return {
          name: "Payment failed",
          icon: "⚠️",
          userId: random.user(),
          notify: true,
          tags: { ...tags, reason: random.pick(["card_declined", "insufficient_funds", "expired_card"]) },
        };
      }
      return {
        name: "Payment received",
        icon: "💰",
        userId: random.user(),
        notify: Number(amount) > 150,
        tags,
      };
    },
  },
  {
    channel: "signups",
    perDay: 28,
    inDaytime: true,
    make: (random) => ({
      name: "Account created",
      icon: "👋",
      userId: random.user(),
      tags: {
        plan: random.pick(plans),
        source: random.pick(["search", "newsletter", "friend", "podcast"]),
        country: random.pick(countries),
      },
    }),
  },
  {
    channel: "logins",
    perDay: 170,
    inDaytime: true,
    make: (random) => ({
      name: random.chance(0.05) ? "Sign-in failed" : "Signed in",
      icon: "🔑",
      userId: random.user(),
      tags: { device: random.pick(["phone", "phone", "laptop", "tablet"]), country: random.pick(countries) },
    }),
  },
  {
    channel: "shipping",
    perDay: 90,
    inDaytime: true,
    make: (random) => ({
      name: random.pick(["Parcel handed over", "Parcel delivered", "Parcel delivered", "Parcel delayed"]),
      icon: "📦",
      userId: random.user(),
      tags: { carrier: random.pick(carriers), country: random.pick(countries) },
    }),
  },
  {
    channel: "support",
    perDay: 9,
    inDaytime: true,
    make: (random) => ({
      name: "Ticket opened",
      icon: "💬",
      userId: random.user(),
      notify: random.chance(0.4),
      tags: {
        topic: random.pick(["delivery", "refund", "grind size", "invoice"]),
        priority: random.pick(["low", "normal", "high"]),
      },
      description: random.pick([
        "My parcel says **delivered**, but the neighbors have not seen it either.",
        "Could you grind the next one for a *moka pot*? The last bag was for filter.",
        "The invoice is missing our VAT number:\n\n- company: Nordlicht GmbH\n- order: see above",
      ]),
    }),
  },
  {
    channel: "deployments",
    perDay: 4,
    inDaytime: true,
    make: (random) => {
      const service = random.pick(services);
      return {
        name: "Deployed to production",
        icon: "🚀",
        notify: true,
        tags: {
          service,
          version: `2.${random.int(10, 48)}.${random.int(0, 9)}`,
          by: random.pick(["mira", "jonas", "aiko"]),
        },
        description: `Rolled out **${service}** to all regions.\n\n\`\`\`\nhealthy 6/6, p95 ${random.int(60, 140)} ms\n\`\`\``,
      };
    },
  },
  {
    channel: "backups",
    perDay: 4,
    make: (random) => ({
      name: "Backup done",
      icon: "💾",
      tags: {
        database: random.pick(["shop", "search"]),
        size: `${random.int(38, 44)} GB`,
        seconds: String(random.int(90, 260)),
      },
    }),
  },
  {
    channel: "errors",
    perDay: 7,
    make: (random) => ({
      name: random.pick(["Upstream timed out", "Queue is behind", "Disk is almost full"]),
      icon: "🔥",
      notify: true,
      tags: { service: random.pick(services), severity: random.pick(["warning", "warning", "critical"]) },
    }),
  },
];

/** Random numbers with a fixed seed, so that two seeded databases look alike. */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /**
   * From 0 inclusive to 1 exclusive; mulberry32
   * (https://gist.github.com/tommyettinger/46a874533244883189143505d203312c).
   */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  /** An integer from `low` to `high`, both inclusive. */
  int(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.int(0, choices.length - 1)]!;
  }

  /** A customer. A few come often. */
  user(): string {
    return `cus_${Math.floor(1_000 + 900 * this.next() ** 2)}`;
  }
}

const dayMs = 24 * 60 * 60 * 1_000;

export type Shop = {
  channels: typeof channels;
  /** Oldest first, up to now. */
  events: SeedEvent[];
  users: { userId: string; properties: Record<string, string> }[];
};

export function createShop(nowMs: number, days: number): Shop {
  const random = new Random(4_242);
  const events: SeedEvent[] = [];
  for (let day = 0; day < days; day++) {
    const startMs = nowMs - (days - day) * dayMs;
    const weekday = new Date(startMs).getUTCDay();
    const busy = (weekday === 0 || weekday === 6 ? 0.6 : 1) * (0.8 + (0.4 * day) / days);
    for (const kind of kinds) {
      const count = Math.round(kind.perDay * busy * (0.8 + 0.4 * random.next()));
      for (let index = 0; index < count; index++) {
        const createdAt = kind.inDaytime
          ? daytimeMs(startMs, random)
          : Math.floor(startMs + random.next() * dayMs);
        events.push({ channel: kind.channel, createdAt, ...kind.make(random) });
      }
    }
  }
  events.sort((a, b) => a.createdAt - b.createdAt);
  return { channels, events, users: usersOf(events) };
}

/** What the shop knows of its customers: their properties. */
function usersOf(events: SeedEvent[]): Shop["users"] {
  const random = new Random(1_042);
  const ids = new Set(events.flatMap(({ userId }) => userId ?? []));
  return [...ids].map((userId) => {
    const name = `${random.pick(firstNames)} ${random.pick(lastNames)}`;
    const email = `${userId.replace("_", ".")}@example.com`;
    return { userId, properties: { name, email, plan: random.pick(plans), country: random.pick(countries) } };
  });
}

/** A time of the day at which people are more likely to be awake (UTC). */
function daytimeMs(startMs: number, random: Random): number {
  for (;;) {
    const ms = Math.floor(startMs + random.next() * dayMs);
    const hour = new Date(ms).getUTCHours();
    if (random.chance(hour >= 7 && hour <= 21 ? 1 : 0.15)) return ms;
  }
}
