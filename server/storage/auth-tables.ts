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
    /** See auth/credential-epoch.ts. */
    credentialEpoch: Generated<number>;
    createdAt: string;
    updatedAt: string;
  };
  credentials: {
    id: string;
    accountId: string;
    providerId: string;
    userId: string;
    accessToken: string | null;
    refreshToken: string | null;
    idToken: string | null;
    accessTokenExpiresAt: string | null;
    refreshTokenExpiresAt: string | null;
    scope: string | null;
    password: string | null;
    credentialEpoch: Generated<number>;
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
    credentialEpoch: Generated<number>;
  };
  /** Challenges of sign-ins. */
  verifications: {
    id: string;
    identifier: string;
    value: string;
    /** The account that is signing in; null if it is not known yet. */
    accountId: string | null;
    credentialEpoch: Generated<number>;
    expiresAt: string;
    createdAt: string;
    updatedAt: string;
  };
  accountLinks: {
    tokenHash: string;
    purpose: string;
    accountId: string | null;
    credentialEpoch: number;
    email: string | null;
    createdAt: string;
    expiresAt: string;
  };
  twoFactors: {
    id: string;
    userId: string;
    secret: string;
    backupCodes: string;
    verified: Generated<number>;
    failedVerificationCount: Generated<number>;
    lockedUntil: string | null;
    credentialEpoch: Generated<number>;
    enabledAt: string | null;
    /** The time step of the last code that was accepted. */
    usedStep: number | null;
  };
  passkeys: {
    id: string;
    userId: string;
    name: string | null;
    publicKey: string;
    credentialId: string;
    counter: number;
    deviceType: string;
    backedUp: number;
    transports: string | null;
    aaguid: string | null;
    credentialEpoch: Generated<number>;
    createdAt: string | null;
  };
};
