import t from "tap";
import type { Config } from "../../../../shared/config/config.js";
import { placeInFile } from "../../../../shared/config/limits/declared-at.js";
import { problemLine } from "../../../../shared/config/problems.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { providerConfig } from "../../../support/provider-config.js";
import { accepted as acceptedWhole, problemsOf, refused, samplePath } from "../resolve-sample.js";

/** Without the list for people, which is tested in `resolve-settings.test.ts`. */
function accepted(...args: Parameters<typeof acceptedWhole>): {
  readonly ok: true;
  readonly config: Config;
  readonly warnings: readonly string[];
} {
  const { config, warnings } = acceptedWhole(...args);
  return { ok: true, config: { ...config, settings: [] }, warnings };
}

const builtIn: Config = {
  file: null,
  server: {
    host: "127.0.0.1",
    port: 8080,
    proxies: 1,
    tls: null,
    admin: null,
    masterKey: null,
    masterKeyFile: null,
    publicUrl: null,
    allowOpen: false,
    allowedHosts: [],
    corsOrigins: [],
    defaultModels: [],
    trustedProxies: [],
    passthrough: "master_key",
    userPathHeader: "x-sluice-user-path",
    bodyBytesMax: 33_554_432,
    uploadBytesMax: 536_870_912,
    heldBytesMax: null,
    connectionsMax: 10_000,
    drainMs: 25_000,
    drainGraceMs: 2_000,
    reloadDrainMs: 600_000,
    stalledClientMs: 60_000,
    streamKeepAliveMs: 0,
    requestIdInRefusals: false,
  },
  limiter: {
    socket: "/tmp/sluice-1000/limiterd.sock",
    adminSocket: "/tmp/sluice-1000/limiterd-admin.sock",
    socketGroupAccess: false,
    dataDir: "/home/a/.local/state/sluice",
    spoolDir: "/home/a/.local/state/sluice/spool",
    failureMode: "closed",
    deadlineMs: 2000,
  },
  providers: [
    providerConfig({
      name: "simulator",
      type: "simulator",
      baseUrl: "",
      models: ["sim-fast", "sim-slow"],
    }),
  ],
  virtualModels: [],
  aliases: [],
  prices: [],
  jwtIssuers: [],
  cache: null,
  metrics: {
    token: null,
    tokenFile: null,
    listen: null,
    seriesMax: 10_000,
    rulesMax: 500,
    userPathDepth: 0,
  },
  cluster: null,
  tracing: {
    propagate: "private",
    endpoint: null,
    protocol: "http/json",
    headers: null,
    headersFile: null,
    spanHeaders: null,
    sampler: "parentbased_traceidratio",
    sample: 1,
  },
  mcpServers: [],
  webSearch: null,
  oidc: null,
  rewriters: [],
  usageEnabled: true,
  usageRetentionDays: 400,
  requestDetailsMax: 10_000,
  keepsErrorTexts: true,
  showsAncestors: true,
  auditRetentionDays: 365,
  background: { lookMs: 60_000, waitMs: 86_400_000, max: 10_000 },
  storeBytesMax: null,
  quotaTemplatesEntitled: false,
  rateLimits: {
    enabled: true,
    flushIntervalMs: 1000,
    tokenWeights: null,
    rules: [],
    declaredAt: [],
  },
  alerts: [],
  budgets: { enabled: true, unpriced: "allow", budgets: [], declaredAt: [] },
  waiting: null,
  logLevel: "info",
  logging: { format: "auto", sample: 1 },
  priceListFile: null,
  settings: [],
};

const env = { HOME: "/home/a" };

t.test("a section that is something else is named without what it holds", async (t) => {
  for (const text of [
    "providers: [{ name: openai, api_key: sk-secret }]",
    "providers: { openai: sk-secret }",
    "server: [{ master_key: sk-secret }]",
    "metrics: sk-secret",
    "cluster: [{ url: 'valkey://u:sk-secret@engine' }]",
    "jwt: { issuer: a, secret: sk-secret }",
    "aliases: sk-secret",
    "server: { port: { master_key: sk-secret } }",
    "master_key=sk-secret",
    "- sk-secret",
  ]) {
    const said = refused(text).join();
    t.match(said, / must be an? .*, not a (?:text|list|mapping)/, text);
    t.notMatch(said, "sk-secret", text);
  }
});

t.test("the list for people shows the paths that are used", async (t) => {
  const { settings, limiter } = acceptedWhole(null, { env }).config;
  const shown = new Map(settings.map(({ path, value }) => [path, value]));
  for (const [path, value] of [
    ["limiter.socket", limiter.socket],
    ["limiter.admin_socket", limiter.adminSocket],
    ["limiter.data_dir", limiter.dataDir],
    ["limiter.spool_dir", limiter.spoolDir],
  ] as const)
    t.equal(shown.get(path), value, path);
  t.notOk([...shown.values()].includes("see below"));
});

t.test("without a file, and with an empty one, there is the built-in default", async (t) => {
  t.same(accepted(null, { env }), { ok: true, config: builtIn, warnings: [] });
  for (const text of [
    "",
    "\n",
    "# nothing\n",
    "---\n",
    "server:\nlimiter:\nrate_limits:\n  user_paths:\nusage: {}\nproviders:\nentitlements:\n",
  ]) {
    t.same(accepted(text, { env }).config, { ...builtIn, file: samplePath }, JSON.stringify(text));
  }
});

t.test(
  "the sections of a file, the environment and the flags end in one configuration",
  async (t) => {
    const text = `
server: { host: "::1", port: "\${MY_PORT}", proxies: 3, master_key: "\${KEY}", allow_open: on, user_path_header: X-Path, max_body_bytes: 1024, max_held_bytes: 2000000, max_connections: 7, drain_seconds: 0, drain_grace_seconds: 0, reload_drain_seconds: 1, stalled_client_seconds: 1.5, request_id_in_refusals: yes }
limiter: { socket: run/l.sock, admin_socket: run/a.sock, data_dir: ./data, spool_dir: left, socket_group_access: true, failure_mode: open, deadline_ms: 5 }
cache: { enabled: true, ttl_seconds: 0.5, max_entries: 7, max_bytes: 2048, share_across_paths: yes }
usage: { enabled: false }
entitlements: [quota_templates]
rate_limits: { enabled: false, flush_interval: 0.25 }
budgets: { enabled: false, labels: [ { label: x, limits: [ { period: daily, amount: 1 } ] } ] }
log_level: warn
log_format: text
log_sample: 0.1
`;
    const { config } = accepted(text, {
      env: { ...env, MY_PORT: "81", LOG_LEVEL: "trace" },
      flags: { host: "0.0.0.0", dataDir: "/flag" },
    });
    t.same(config, {
      ...builtIn,
      file: samplePath,
      server: {
        ...builtIn.server,
        host: "0.0.0.0",
        port: 81,
        proxies: 3,
        allowOpen: true,
        userPathHeader: "x-path",
        bodyBytesMax: 1024,
        heldBytesMax: 2_000_000,
        connectionsMax: 7,
        drainMs: 0,
        drainGraceMs: 0,
        reloadDrainMs: 1_000,
        stalledClientMs: 1500,
        requestIdInRefusals: true,
      },
      limiter: {
        socket: "/srv/run/l.sock",
        adminSocket: "/srv/run/a.sock",
        socketGroupAccess: true,
        dataDir: "/flag",
        spoolDir: "/srv/left",
        failureMode: "open",
        deadlineMs: 5,
      },
      cache: {
        ttlMs: 500,
        entriesMax: 7,
        bytesMax: 2048,
        entryBytesMax: 2048,
        shareAcrossPaths: true,
      },
      usageEnabled: false,
      quotaTemplatesEntitled: true,
      rateLimits: {
        enabled: false,
        flushIntervalMs: 250,
        tokenWeights: null,
        rules: [],
        declaredAt: [],
      },
      budgets: {
        enabled: false,
        unpriced: "allow",
        budgets: [
          { scope: "label", subject: "x", periodSeconds: 86_400, amountUsd: 1, perChild: false },
        ],
        declaredAt: [placeInFile(0, 0, 8)],
      },
      logLevel: "trace",
      logging: { format: "text", sample: 0.1 },
    });
  },
);

t.test("unknown keys are reported at any depth", async (t) => {
  const text = `
sever: {}
server: { prot: 1 }
limiter: { sockt: a }
usage: { enable: true }
rate_limits: { user_path: [] }
budgets: { users: [] }
"a.b": 1
`;
  t.match(
    refused(text),
    exactly([
      "sever is not a known key; did you mean server?",
      /^\["a\.b"\] is not a known key: expected /,
      "server.prot is not a known key; did you mean port?",
      "limiter.sockt is not a known key; did you mean socket?",
      "usage.enable is not a known key; did you mean enabled?",
      "rate_limits.user_path is not a known key; did you mean user_paths?",
      /^budgets\.users is not a known key: expected /,
    ]),
  );
});

t.test("a value that isn't a mapping is reported, for the file and for sections", async (t) => {
  t.match(refused("- 1\n"), exactly([/^the file must be a mapping of .*, not a list$/]));
  t.match(refused("hello\n"), exactly([/^the file must be a mapping of .*, not a text$/]));
  t.match(
    refused("server: [1]\nlimiter: 5\nrate_limits: x\n"),
    exactly([
      /^server must be a mapping of host, /,
      /^limiter must be a mapping of socket, .*, not 5$/,
      /^rate_limits must be a mapping of enabled, /,
    ]),
  );
});

t.test("every problem has its place: the file, the environment or the flags", async (t) => {
  const lines = (
    text: string | null,
    others: Parameters<typeof problemsOf>[1] = {},
  ): readonly string[] => problemsOf(text, others).map(problemLine);
  const text =
    "server: { port: x, prot: 1 }\nlimiter: { socket: '${NOPE}' }\nproviders: { openai: { models: 5 } }\nrate_limits: { user_paths: [ { path: /a, limits: [ { period: day, max_requests: 0 } ] } ] }\n";
  t.same(
    lines(text, {
      env: { PORT: "y", OPENAI_MODELS: "/", SET_RATE_LIMIT_A: "rpm=-1", SET_BUDGET_A: "daily" },
      flags: { logLevel: "loud" },
    }),
    [
      `${samplePath}:2:12: limiter.socket needs the environment variable NOPE, which isn't set`,
      `${samplePath}:1:20: server.prot is not a known key; did you mean port?`,
      `${samplePath}:3:24: providers.openai.models must be a list of model ids, or ["*"] for any, not 5`,
      `${samplePath}:1:11: server.port must be an integer from 0 to 65535, not "x"`,
      `${samplePath}:4:67: rate_limits.user_paths[0].limits[0].max_requests must be greater than 0, not 0`,
      'environment: PORT must be an integer from 0 to 65535, not "y"',
      'environment: OPENAI_MODELS must be a list of model ids, or ["*"] for any, not "/"',
      'environment: SET_RATE_LIMIT_A: rpm must be greater than 0, not "-1"',
      'environment: SET_BUDGET_A must hold pairs such as daily=10, not "daily"',
      'flags: --log-level must be fatal, error, warn, info, debug, trace or silent, not "loud"',
    ],
  );
  const long = "/".padEnd(200, "s");
  t.same(lines(`limiter: { socket: ${long} }`), [
    `${samplePath}:1:12: limiter.socket must be at most 107 bytes long, not 200: ${long}`,
  ]);
  t.same(lines("{}", { flags: { socket: long } }), [
    `flags: --socket must be at most 107 bytes long, not 200: ${long}`,
  ]);
  t.same(lines(null, { env: { PORT: "y" } }), [
    'environment: PORT must be an integer from 0 to 65535, not "y"',
  ]);
});

t.test("mistakes of every kind are reported together", async (t) => {
  const text = `
server: { port: 70000, port: 1, colour: red, host: "\${NOPE}" }
providers: { Local: { type: x } }
virtual_models: { a: { targets: [ { model: nope/m } ] } }
entitlements: [everything]
rate_limits: { user_paths: [ { path: /a, limits: [ { period: minute, max_requests: 0 } ] } ] }
`;
  const problems = refused(text, {
    env: {
      LIMITER_FAILURE_MODE: "ajar",
      SET_RATE_LIMIT_A: "rpm=x",
      OPENAI_API_KEY: "k",
      OPENAI_BASE_URL: "x.y",
    },
    flags: { logLevel: "loud" },
  });
  for (const start of [
    "the key port appears twice",
    "server.host needs the environment variable NOPE",
    "server.colour ",
    "entitlements ",
    "LIMITER_FAILURE_MODE ",
    "--log-level ",
    "providers.Local ",
    "OPENAI_BASE_URL ",
    "virtual_models.a.targets[0].model ",
    "rate_limits.user_paths[0].limits[0].max_requests ",
    "SET_RATE_LIMIT_A: rpm ",
  ]) {
    t.equal(problems.filter((problem) => problem.startsWith(start)).length, 1, start);
  }
});

t.test(
  "a text that isn't YAML is the only problem reported, since its content is unknown",
  async (t) => {
    t.same(refused("server: [\nport: 1", { env: { PORT: "x" } }), [
      "too little indentation, or a quote, [ or { that isn't closed",
    ]);
  },
);

t.test("a path too long for a Unix socket is reported with the place that set it", async (t) => {
  const path = `/${"s".repeat(107)}`;
  t.same(refused(`limiter: { socket: ${path} }\n`), [
    `limiter.socket must be at most 107 bytes long, not 108: ${path}`,
  ]);
  t.same(refused(null, { env: { SLUICE_SOCKET: path } }), [
    `SLUICE_SOCKET must be at most 107 bytes long, not 108: ${path}`,
  ]);
  t.same(refused(null, { flags: { socket: path }, env: { SLUICE_SOCKET: "/a" } }), [
    `--socket must be at most 107 bytes long, not 108: ${path}`,
  ]);
  t.same(refused(null, { env: { XDG_RUNTIME_DIR: path } }), [
    `limiter.socket must be at most 107 bytes long, not 129: ${path}/sluice/limiterd.sock`,
  ]);
  const longest = path.slice(0, -1);
  t.same(refused(null, { flags: { socket: longest } }), [
    `--socket must be shorter: the admin socket beside it must be at most 107 bytes long, not 118: ${longest}-admin.sock`,
  ]);
  t.same(refused(null, { flags: { socket: "/a" }, env: { SLUICE_ADMIN_SOCKET: path } }), [
    `SLUICE_ADMIN_SOCKET must be at most 107 bytes long, not 108: ${path}`,
  ]);
  t.match(
    accepted(null, { flags: { socket: longest }, env: { SLUICE_ADMIN_SOCKET: "/a" } }).config,
    { limiter: { socket: longest, adminSocket: "/a" } },
  );
  t.same(refused("limiter: { socket: /a.sock, admin_socket: /a.sock }\n"), [
    "limiter.admin_socket must be another path than limiter.socket, not /a.sock",
  ]);
});

t.test("secrets stay out of every problem", async (t) => {
  const text =
    "server: { master_key: 'the secret' }\nproviders: { a: { base_url: 'http://me:secret@x', api_key: 'my secret' } }\n";
  const problems = refused(text, { env: { OPENAI_API_KEY: "a secret" } });
  t.equal(problems.length, 4);
  for (const problem of problems) t.notMatch(problem, /secret/, problem);
});
