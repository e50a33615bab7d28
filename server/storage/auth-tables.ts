import type { Generated } from "kysely";

/** The tables of accounts and sessions. Times are ISO 8601, as better-auth writes them. */
export type AuthTables = {
  accounts: {
    id: string;
    name: string;
    email: string;
    emailVerified: number;
    image: string | null;
    twoFactorEnabled: Generated<number>;
    createdAt: string;
    updatedAt: string;
  };
  credentials: {
    id: string;
    accountId: string;
    providerId: string;
    userId: string;
    password: string | null;
    createdAt: string;
    updatedAt: string;
  };
  sessions: {
    id: string;
    userId: string;
    token: string;
    expiresAt: string;
    createdAt: string;
    updatedAt: string;
    ipAddress: string | null;
    userAgent: string | null;
  };
  /** One-time links and challenges of sign-ins. */
  verifications: {
    id: string;
    identifier: string;
    value: string;
    expiresAt: string;
    createdAt: string;
    updatedAt: string;
  };
  twoFactors: { id: string; userId: string; secret: string; backupCodes: string };
  passkeys: { id: string; userId: string; name: string | null; createdAt: string | null };
};
