/**
 * Limits for what browsers do with responses (https://owasp.org/www-project-secure-headers). A response that is no page
 * may do nothing, even if someone opens it as one.
 */
export const dataPolicy = "default-src 'none'; frame-ancestors 'none'";

/** The policy of the dashboard's pages and workers: use files and routes of this server, and draw images from data. */
export const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  // No text becomes HTML or a script. The one policy is in dashboard/trusted-types.ts.
  "require-trusted-types-for 'script'",
  "trusted-types default",
].join("; ");

export const everyResponse = {
  "x-content-type-options": "nosniff",
  // The setup link contains a token that other sites must not see.
  "referrer-policy": "same-origin",
  // Other sites can't embed it. Their scripts can still read it where CORS allows.
  "cross-origin-resource-policy": "same-origin",
};

export const everyPage = {
  "content-security-policy": pagePolicy,
  // Pages of other sites that open ours, or are opened by it, get no reference to its window.
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy":
    "camera=(), display-capture=(), geolocation=(), microphone=(), midi=(), payment=(), serial=(), usb=()",
};

/** Makes browsers use HTTPS for a year. Without subdomains, which may belong to something else. */
export const strictTransportSecurity = "max-age=31536000";
