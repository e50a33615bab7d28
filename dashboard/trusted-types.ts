type TrustedTypePolicyFactory = {
  createPolicy: (name: string, rules: { createScriptURL: (url: string) => string }) => unknown;
};

/**
 * The page's only Trusted Types policy (https://w3c.github.io/trusted-types): workers come from this server. No text ever
 * becomes HTML or a script, so there are no other rules, and the browser rejects both.
 */
(window as { trustedTypes?: TrustedTypePolicyFactory }).trustedTypes?.createPolicy("default", {
  createScriptURL(url) {
    if (new URL(url, location.href).origin === location.origin) return url;
    throw new TypeError(`Not a script of this server: ${url}`);
  },
});
