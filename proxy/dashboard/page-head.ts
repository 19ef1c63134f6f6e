/**
 * The headers of every answer below /dashboard, and its only HTML page
 * (docs/contributing/dashboard.md, "Headers"). Pure.
 */

/**
 * Scripts and styles come from this origin only, none inline; nothing is sent elsewhere, and no
 * page may frame this one. With Trusted Types and no allowed policy, no text can become markup.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** Names and values, alternating. */
export const pageHeaders: readonly string[] = [
  "content-security-policy",
  contentSecurityPolicy,
  "x-content-type-options",
  "nosniff",
  "referrer-policy",
  "no-referrer",
  "cross-origin-opener-policy",
  "same-origin",
  "cross-origin-resource-policy",
  "same-origin",
];

/** The names of the bundle's entry files, which contain a hash of their content. */
interface FirstFiles {
  readonly script: string;
  readonly style: string;
  /** Runs before the first paint, so that a chosen theme doesn't flash. */
  readonly theme: string;
}

/** The page, which is the same at each address: its script reads the address. */
export function indexPage({ script, style, theme }: FirstFiles): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sluice</title>
<link rel="icon" href="/dashboard/icon.svg" type="image/svg+xml">
<script src="/dashboard/assets/${theme}"></script>
<link rel="stylesheet" href="/dashboard/assets/${style}">
<script type="module" src="/dashboard/assets/${script}"></script>
</head>
<body>
<noscript>The dashboard needs JavaScript. The same is offered by the command line, sluice --help, and by the admin API below /admin.</noscript>
</body>
</html>
`;
}

/** The icon in the browser's tab: a gate above water. */
export const iconText = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#0b7285"/><path d="M8 7v18M24 7v18M12 7h8v9h-8z" fill="none" stroke="#fff" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round"/><path d="M12 21c1.3-1.3 2.7-1.3 4 0s2.7 1.3 4 0" fill="none" stroke="#8ce0ee" stroke-width="2.5" stroke-linecap="round"/></svg>`;
