/**
 * The rooms of the programs and the doors between them: which room may import which, types
 * included. A room is a folder; of the files that stand at a program's top, some are a room of
 * their own. `npm run rooms` prints the graph as it is; `tidy.test.ts` holds it to this table.
 * docs/architecture.md says what each room is for.
 */

/** The programs, and what they share. */
export const programs = ["proxy", "limiterd", "shared", "bin"];

/** Files that are a room of their own. Other files at the top of a program may import any room. */
const ownRooms: Readonly<Record<string, string>> = {
  "proxy/gateway.ts": "proxy/gateway",
  "proxy/request-context.ts": "proxy/gateway",
  "proxy/request-record.ts": "proxy/gateway",
  "limiterd/state.ts": "limiterd/state",
  "limiterd/declared-limits.ts": "limiterd/declared",
  "limiterd/proxies.ts": "limiterd/proxies",
  "limiterd/peer.ts": "limiterd/peer",
  "limiterd/unread-verdicts.ts": "limiterd/peer",
  "shared/config/load-config.ts": "shared/config/load-config",
};

const proxyBelowGateway = [
  "proxy/auth",
  "proxy/auth/session",
  "proxy/capacity",
  "proxy/body",
  "proxy/body/meaning",
  "proxy/body/rewriters",
  "proxy/dashboard",
  "proxy/dialects",
  "proxy/egress",
  "proxy/handlers/cache",
  "proxy/http",
  "proxy/http/exchanges",
  "proxy/http/paths",
  "proxy/limiter",
  "proxy/metrics",
  "proxy/objects",
  "proxy/handlers/openapi",
  "proxy/routing",
  "proxy/upstream",
  "proxy/upstream/client",
  "proxy/upstream/errors",
  "proxy/upstream/passthrough",
  "proxy/usage",
];

const dialectPairs = [
  "proxy/dialects/chat-to-google",
  "proxy/dialects/google-to-chat",
  "proxy/dialects/chat-to-messages",
  "proxy/dialects/chat-to-responses",
  "proxy/dialects/messages-to-chat",
  "proxy/dialects/responses-to-chat",
];

const limiterdBelowState = [
  "limiterd/declared",
  "limiterd/cluster/definitions",
  "limiterd/rules/back-tests",
  "limiterd/shares",
  "limiterd/shares/sync",
  "limiterd/proxies",
  "limiterd/rules",
  "limiterd/metrics",
  "limiterd/peer",
  "limiterd/counters",
  "limiterd/budgets",
  "limiterd/usage",
  "limiterd/keys",
  "limiterd/objects",
  "limiterd/store",
];

/** The rooms that a room may import, besides itself; every program may import all of `shared`. */
export const doors: Readonly<Record<string, readonly string[]>> = {
  "proxy/egress": [],
  "proxy/body/meaning": [],
  "proxy/body": ["proxy/body/meaning", "proxy/capacity"],
  "proxy/dashboard": ["proxy/http", "proxy/limiter"],
  "proxy/limiter": [],
  "proxy/limiter/client": ["proxy/limiter"],
  "proxy/limiter/spool": ["proxy/limiter"],
  "proxy/capacity": [],
  "proxy/body/rewriters": ["proxy/body"],
  "proxy/usage": ["proxy/body", "proxy/capacity"],
  "proxy/http/paths": [],
  "proxy/http/drain": ["proxy/capacity"],
  "proxy/http/tracing": [],
  "proxy/http": [
    "proxy/http/tracing",
    "proxy/http/drain",
    "proxy/http/paths",
    "proxy/body",
    "proxy/capacity",
  ],
  "proxy/http/exchanges": ["proxy/http", "proxy/capacity"],
  "proxy/upstream/errors": ["proxy/body"],
  "proxy/upstream": [
    "proxy/body",
    "proxy/http",
    "proxy/http/paths",
    "proxy/http/tracing",
    "proxy/usage",
    "proxy/upstream/errors",
  ],
  "proxy/upstream/credentials": ["proxy/body", "proxy/upstream"],
  "proxy/upstream/client": [
    "proxy/upstream/credentials",
    "proxy/egress",
    "proxy/http",
    "proxy/upstream",
    "proxy/upstream/errors",
  ],
  "proxy/upstream/passthrough": [
    "proxy/upstream/credentials",
    "proxy/egress",
    "proxy/body",
    "proxy/http",
    "proxy/usage",
    "proxy/upstream",
    "proxy/upstream/errors",
  ],
  "proxy/objects": [
    "proxy/auth",
    "proxy/body",
    "proxy/http",
    "proxy/limiter",
    "proxy/upstream",
    "proxy/upstream/errors",
  ],
  "proxy/routing": ["proxy/upstream", "proxy/body"],
  "proxy/auth": ["proxy/egress", "proxy/http", "proxy/limiter"],
  "proxy/auth/session": ["proxy/auth", "proxy/http", "proxy/limiter"],
  "proxy/dialects/translation": [
    "proxy/body",
    "proxy/upstream",
    "proxy/upstream/errors",
    "proxy/usage",
  ],
  "proxy/dialects/to-chat": ["proxy/dialects/translation", "proxy/body", "proxy/usage"],
  ...Object.fromEntries(
    dialectPairs.map((pair) => [
      pair,
      [
        "proxy/dialects/to-chat",
        "proxy/dialects/translation",
        "proxy/body",
        "proxy/body/meaning",
        "proxy/usage",
      ],
    ]),
  ),
  "proxy/dialects/variants": ["proxy/dialects/translation", "proxy/body"],
  "proxy/dialects/native": ["proxy/dialects/translation", "proxy/dialects/variants", "proxy/body"],
  "proxy/dialects": [
    ...dialectPairs,
    "proxy/dialects/variants",
    "proxy/dialects/translation",
    "proxy/body",
    "proxy/body/meaning",
    "proxy/capacity",
    "proxy/http",
    "proxy/upstream",
    "proxy/upstream/errors",
    "proxy/usage",
  ],
  "proxy/metrics": ["proxy/limiter", "proxy/upstream", "proxy/usage"],
  "proxy/handlers/openapi": ["proxy/http"],
  "proxy/handlers/cache": [
    "proxy/capacity",
    "proxy/http",
    "proxy/http/exchanges",
    "proxy/upstream",
    "proxy/usage",
  ],
  "proxy/gateway": proxyBelowGateway,
  "proxy/handlers/admin": [
    "proxy/gateway",
    "proxy/auth",
    "proxy/http",
    "proxy/http/paths",
    "proxy/routing",
  ],
  "proxy/handlers/attempts": [
    "proxy/gateway",
    "proxy/http",
    "proxy/limiter",
    "proxy/routing",
    "proxy/upstream",
    "proxy/upstream/errors",
  ],
  "proxy/handlers/logging": ["proxy/gateway", "proxy/http"],
  "proxy/handlers/metrics": [
    "proxy/gateway",
    "proxy/handlers/admin",
    "proxy/http",
    "proxy/metrics",
  ],
  "proxy/handlers/objects": ["proxy/gateway", "proxy/handlers", ...proxyBelowGateway],
  "proxy/handlers": [
    "proxy/gateway",
    "proxy/handlers/attempts",
    "proxy/handlers/logging",
    "proxy/dialects/native",
    "proxy/dialects/translation",
    ...proxyBelowGateway,
  ],
  "proxy/handlers/dashboard": [
    "proxy/gateway",
    "proxy/handlers",
    "proxy/handlers/admin",
    ...proxyBelowGateway,
  ],

  "limiterd/store": [],
  "limiterd/declared": [],
  "limiterd/maintenance": [
    "limiterd/lifecycle",
    "limiterd/store/lmdb",
    "limiterd/counters",
    ...limiterdBelowState,
  ],
  "limiterd/store/lmdb": ["limiterd/store"],
  "limiterd/counters": [],
  "limiterd/cluster/engine": [],
  "limiterd/cluster/definitions": ["limiterd/cluster/engine", "limiterd/store"],
  "limiterd/cluster": ["limiterd/cluster/engine", "limiterd/counters"],
  "limiterd/usage": ["limiterd/store"],
  "limiterd/keys": ["limiterd/store"],
  "limiterd/objects": ["limiterd/store"],
  "limiterd/budgets": ["limiterd/store", "limiterd/usage"],
  "limiterd/peer": ["limiterd/counters"],
  "limiterd/proxies": ["limiterd/peer", "limiterd/store"],
  "limiterd/rules": ["limiterd/counters", "limiterd/budgets", "limiterd/peer", "limiterd/store"],
  "limiterd/metrics": [],
  "limiterd/rules/back-tests": [
    "limiterd/counters",
    "limiterd/rules",
    "limiterd/store",
    "limiterd/usage",
  ],
  "limiterd/shares": ["limiterd/cluster", "limiterd/counters"],
  "limiterd/shares/sync": [
    "limiterd/shares",
    "limiterd/cluster",
    "limiterd/counters",
    "limiterd/rules",
  ],
  "limiterd/state": limiterdBelowState,
  "limiterd/lists": [
    "limiterd/state",
    "limiterd/declared",
    "limiterd/peer",
    "limiterd/rules",
    "limiterd/counters",
    "limiterd/budgets",
    "limiterd/usage",
  ],
  "limiterd/handlers/announcements": ["limiterd/state", "limiterd/peer"],
  "limiterd/handlers/definitions": [
    "limiterd/cluster/engine",
    "limiterd/handlers/announcements",
    "limiterd/state",
    ...limiterdBelowState,
  ],
  "limiterd/handlers/admin": [
    "limiterd/lists",
    "limiterd/handlers/definitions",
    "limiterd/state",
    ...limiterdBelowState,
  ],
  "limiterd/handlers": [
    "limiterd/handlers/announcements",
    "limiterd/handlers/admin",
    "limiterd/state",
    ...limiterdBelowState,
  ],
  "limiterd/lifecycle": [
    "limiterd/handlers/announcements",
    "limiterd/handlers",
    "limiterd/handlers/admin",
    "limiterd/state",
    ...limiterdBelowState,
  ],

  shared: ["shared/logging"],
  "shared/logging": [],
  "shared/usage": ["shared"],
  "shared/cluster": ["shared"],
  "shared/access": ["shared"],
  "shared/metrics": ["shared"],
  "shared/advice": [],
  "shared/domain": ["shared", "shared/access", "shared/advice", "shared/usage"],
  "shared/supervision": ["shared"],
  "shared/socket": ["shared", "shared/supervision"],
  "shared/wire": ["shared", "shared/access", "shared/domain", "shared/usage", "shared/socket"],
  "shared/config": [
    "shared",
    "shared/access",
    "shared/cluster",
    "shared/domain",
    "shared/metrics",
    "shared/usage",
  ],
  "shared/api": ["shared", "shared/access", "shared/domain", "shared/usage", "shared/config"],
  "shared/export": ["shared", "shared/domain", "shared/api"],
  ...inOrder(
    [
      "shared",
      "shared/access",
      "shared/advice",
      "shared/cluster",
      "shared/domain",
      "shared/usage",
      "shared/socket",
      "shared/config",
    ],
    [
      "shared/config/kinds",
      "shared/config/presets",
      "shared/config/settings",
      "shared/config/limits",
      "shared/config/file",
      "shared/config/schema",
      "shared/config/build",
      "shared/config/kept",
      "shared/config/load-config",
    ],
  ),

  "bin/text": [],
  "bin/remote": [],
  "bin/checks": ["bin/session", "bin/text", "proxy/egress", "proxy/upstream/credentials"],
  "bin/completion": ["bin/session"],
  "bin/session": ["bin/remote", "bin/text", "proxy/routing"],
  "bin/keys": ["bin/session", "bin/text"],
  "bin/limits": ["bin/session", "bin/text"],
  "bin/usage": ["bin/session", "bin/text"],
  "bin/live": ["bin/limits", "bin/session", "bin/text"],
  "bin/store": ["bin/session", "bin/text", "bin/usage", "limiterd/maintenance"],
  "bin/supervisor/reload": ["bin/session"],
  "bin/supervisor": ["bin/supervisor/reload", "bin/session", "bin/text"],
  "bin/commands/limits": ["bin/limits", "bin/session", "bin/text"],
  "bin/commands/keys": ["bin/keys", "bin/session", "bin/text"],
  "bin/commands/usage": ["bin/session", "bin/text", "bin/usage"],
  "bin/commands/live": ["bin/limits", "bin/live", "bin/session", "bin/text"],
  "bin/commands/providers": ["bin/checks", "bin/session", "bin/text"],
  "bin/commands/config": ["bin/checks", "bin/session", "bin/text"],
  "bin/commands/store": [
    "bin/session",
    "bin/store",
    "bin/text",
    "bin/usage",
    "limiterd/maintenance",
  ],
  "bin/commands": [
    "bin/completion",
    "bin/checks",
    "bin/keys",
    "bin/limits",
    "bin/supervisor/reload",
    "bin/session",
    "bin/supervisor",
    "bin/text",
    "bin/usage",
  ],
};

/** Rooms of which each may import those before it, and all of `below`. */
function inOrder(below: readonly string[], rooms: readonly string[]): Record<string, string[]> {
  return Object.fromEntries(rooms.map((room, i) => [room, [...below, ...rooms.slice(0, i)]]));
}

/** The room of a file, by its path from the root of the repository. */
export function roomOf(path: string): string {
  return ownRooms[path] ?? path.slice(0, path.lastIndexOf("/"));
}

/** Whether files of one room may import files of another. The top of a program may import any. */
export function mayEnter(from: string, to: string): boolean {
  if (from === to) return true;
  if (to.startsWith("shared") && !from.startsWith("shared")) return true;
  const allowed = doors[from];
  return allowed === undefined || allowed.includes(to);
}
