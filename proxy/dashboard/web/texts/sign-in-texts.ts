/** The words of the page that asks for a key. */

export const signInTexts = {
  title: "Sign in",
  about: "With the master key, a managed key or a JWT.",
  ended: "Your session has ended. Sign in again to go on where you were.",
  key: "Key",
  hint: "It is exchanged for a session cookie; no script of this page can read it afterwards.",
  submit: "Sign in",
  wrong: "This key opens nothing here: it is unknown, expired or deactivated.",
  tooMany: "Too many wrong attempts from this address. Wait a minute.",
  missing: "Enter a key.",
} as const;
