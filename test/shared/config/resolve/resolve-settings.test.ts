import t from "tap";
import { never } from "../../../../shared/config/kinds/value-kind.js";
import { noProblems } from "../../../../shared/config/problems.js";
import {
  describeSettings,
  resolveSettings,
} from "../../../../shared/config/resolve/resolve-settings.js";
import { flagName } from "../../../../shared/config/settings/setting.js";
import { settings } from "../../../../shared/config/settings/settings.js";

function resolve(sources: {
  flags?: Record<string, string>;
  env?: Record<string, string>;
  file?: Record<string, unknown>;
}): { readonly values: ReturnType<typeof resolveSettings>; readonly problems: readonly string[] } {
  const problems = noProblems();
  const values = resolveSettings(
    {
      flags: sources.flags ?? {},
      env: sources.env ?? {},
      file: new Map(Object.entries(sources.file ?? {})),
      cwd: "/work",
      fileDirectory: "/etc/sluice",
    },
    problems,
  );
  return { values, problems: [...problems.flags, ...problems.environment, ...problems.file] };
}

t.test("without anything, every setting has its default", async (t) => {
  const { values, problems } = resolve({});
  t.same(problems, []);
  for (const [name, setting] of Object.entries(settings))
    t.same(values[name as keyof typeof settings], setting.defaultValue, name);
});

t.test(
  "a flag beats the environment, the environment the file, the file the default",
  async (t) => {
    const flags = { port: "1" };
    const env = { PORT: "2" };
    const file = { "server.port": 3 };
    t.equal(resolve({ flags, env, file }).values.port, 1);
    t.equal(resolve({ env, file }).values.port, 2);
    t.equal(resolve({ file }).values.port, 3);
    t.equal(resolve({}).values.port, 8080);
  },
);

t.test("a path starts where it was written: beside the file, or where Sluice runs", async (t) => {
  const file = { "limiter.data_dir": "./d", "limiter.socket": "s", "server.master_key_file": "/k" };
  t.match(resolve({ file }).values, {
    dataDir: "/etc/sluice/d",
    socket: "/etc/sluice/s",
    masterKeyFile: "/k",
  });
  t.match(resolve({ file, flags: { dataDir: "d" }, env: { SLUICE_SOCKET: "./s" } }).values, {
    dataDir: "/work/d",
    socket: "/work/s",
  });
});

t.test("each variable reaches its setting, and beats the file", async (t) => {
  const samples: Readonly<
    Record<keyof typeof settings, readonly [text: string, file: unknown, value: unknown]>
  > = {
    host: ["0.0.0.0", "::1", "0.0.0.0"],
    port: ["9", 8, 9],
    proxies: ["Auto", 2, "auto"],
    tlsCertFile: ["/a", "/b", "/a"],
    tlsKeyFile: ["/a", "/b", "/a"],
    tlsClientCaFile: ["/a", "/b", "/a"],
    tlsClientId: ["a://{b}", "c://{d}", "a://{b}"],
    tlsUserPath: ["/{a}", "/{b}", "/{a}"],
    adminHost: ["10.0.0.1", "::1", "10.0.0.1"],
    adminPort: ["9", 8, 9],
    masterKey: ["mk", "other", "mk"],
    masterKeyFile: ["/a", "/b", "/a"],
    publicUrl: ["https://gw.example/", "http://gw.example", "https://gw.example"],
    allowOpen: ["yes", false, true],
    allowedHosts: ["a.example, B.example", ["c"], ["a.example", "b.example"]],
    corsOrigins: ["https://a.example", [], ["https://a.example"]],
    defaultModels: [
      "images=openai/gpt-image-2, responses=m",
      [],
      [
        { operation: "images", model: "openai/gpt-image-2" },
        { operation: "responses", model: "m" },
      ],
    ],
    trustedProxies: ["::1", [], [{ bits: 128, address: 1n, prefix: 128 }]],
    passthrough: ["all", false, "all"],
    userPathHeader: ["X-Path", "x-other", "x-path"],
    bodyBytesMax: ["", 2048, 2048],
    uploadBytesMax: ["", 2048, 2048],
    heldBytesMax: ["", 2_000_000, 2_000_000],
    connectionsMax: ["", 20, 20],
    drainMs: ["", 0.5, 500],
    drainGraceMs: ["1.5", 5, 1_500],
    reloadDrainMs: ["", 60, 60_000],
    stalledClientMs: ["", 2, 2000],
    streamKeepAliveMs: ["", 15, 15_000],
    requestIdInRefusals: ["", true, true],
    socket: ["/a", "/b", "/a"],
    adminSocket: ["/c", "/d", "/c"],
    socketGroupAccess: ["", true, true],
    dataDir: ["/c", "/d", "/c"],
    spoolDir: ["/c", "/d", "/c"],
    failureMode: ["OPEN", "closed", "open"],
    deadlineMs: ["", 7, 7],
    usageEnabled: ["off", true, false],
    usageRetentionDays: ["30", 90, 30],
    requestDetailsMax: ["30", 90, 30],
    keepsErrorTexts: ["", false, false],
    showsAncestors: ["false", true, false],
    auditRetentionDays: ["30", 90, 30],
    backgroundLookMs: ["", 5, 5000],
    backgroundWaitMs: ["", 5, 5000],
    backgroundMax: ["", 7, 7],
    storeBytesMax: ["20000000", 30_000_000, 20_000_000],
    cacheEnabled: ["on", false, true],
    cacheTtlMs: ["60", 5, 60_000],
    cacheEntriesMax: ["10", 20, 10],
    cacheBytesMax: ["4096", 2048, 4096],
    cacheEntryBytesMax: ["2048", 1024, 2048],
    cacheSharedAcrossPaths: ["true", false, true],
    metricsToken: ["mt", "other", "mt"],
    metricsTokenFile: ["/a", "/b", "/a"],
    metricsHost: ["10.0.0.1", "::1", "10.0.0.1"],
    metricsPort: ["9", 8, 9],
    metricsSeriesMax: ["", 2000, 2000],
    metricsRulesMax: ["", 20, 20],
    metricsUserPathDepth: ["", 2, 2],
    tracePropagation: ["", "all", "all"],
    tracingEndpoint: ["http://a:4318/", "http://b:4318", "http://a:4318"],
    tracesEndpoint: ["http://a:4318", "http://b/x/?y=1", "http://a:4318/"],
    tracingHeaders: ["a=1, b=2%203", "c=4", "a=1, b=2%203"],
    tracingHeadersFile: ["/a", "/b", "/a"],
    tracingSampler: ["Always_On", "always_off", "always_on"],
    tracingSample: ["0.25", 0.5, 0.25],
    clusterUrl: [
      "valkey://a, redis://b:1",
      "valkey://c",
      ["a", "b"].map((host, i) => ({
        host,
        port: i === 0 ? 6379 : 1,
        tls: false,
        username: null,
        password: null,
      })),
    ],
    clusterName: ["a", "b", "a"],
    clusterFailureMode: ["Local", "open", "local"],
    clusterUsername: ["a", "b", "a"],
    clusterPassword: ["pw", "other", "pw"],
    clusterPasswordFile: ["/a", "/b", "/a"],
    clusterCaFile: ["/a", "/b", "/a"],
    clusterSentinelMaster: ["a", "b", "a"],
    clusterSentinelPasswordFile: ["/a", "/b", "/a"],
    oidcIssuer: ["https://a", "https://b/", "https://a"],
    oidcClientId: ["a", "b", "a"],
    oidcClientSecret: ["a", "b", "a"],
    oidcClientSecretFile: ["/a", "/b", "/a"],
    oidcRedirectUrl: ["https://a/x", "https://b/x", "https://a/x"],
    oidcSessionMs: ["", 3600, 3_600_000],
    oidcScopes: ["", ["openid", "groups"], ["openid", "groups"]],
    oidcRoles: [
      "",
      [{ claim: "groups", value: "leads", role: "operator", path: "team//" }],
      [{ claim: "groups", value: "leads", role: "operator", path: "/team" }],
    ],
    searchProvider: ["", "Brave", "brave"],
    searchKey: ["sk", "other", "sk"],
    searchKeyFile: ["/a", "/b", "/a"],
    searchBaseUrl: ["", "http://a/x/", "http://a/x"],
    searchResultsMax: ["", 7, 7],
    searchesMax: ["", 7, 7],
    searchTimeoutMs: ["", 7, 7000],
    searchUsd: ["", 0.005, 0.005],
    entitlements: ["quota_templates", [], ["quota_templates"]],
    rateLimitsEnabled: ["0", true, false],
    flushIntervalMs: ["0.05", 3, 50],
    budgetsEnabled: ["no", true, false],
    tokenWeights: ["cached=0.1", { output: 2 }, { cached: 0.1 }],
    budgetsUnpriced: ["Refuse", "allow", "refuse"],
    waitMaxMs: ["30", 60, 30_000],
    waitDefaultMs: ["0", 5, 0],
    waitsOfPaths: [
      "/a=60:20, /b/=7",
      ["/=9"],
      [
        { path: "/a", maxMs: 60_000, defaultMs: 20_000 },
        { path: "/b", maxMs: 7000, defaultMs: 0 },
      ],
    ],
    waitKeepAliveMs: ["15", 0.5, 15_000],
    priceListFile: ["/a", "/b", "/a"],
    logLevel: ["Debug", "warn", "debug"],
    logFormat: ["JSON", "text", "json"],
    logSample: ["0.25", 0.5, 0.25],
  };
  for (const [name, [text, file, value]] of Object.entries(samples)) {
    const { path, env } = settings[name as keyof typeof settings];
    const { values, problems } = resolve({
      env: env === null ? {} : { [env]: text },
      file: { [path]: file },
    });
    t.same(problems, [], name);
    t.same(values[name as keyof typeof settings], value, name);
  }
});

t.test(
  "the settings in force are listed with their sources, secrets without their values",
  async (t) => {
    const described = (
      sources: Partial<Record<"flags" | "env" | "file", Record<string, unknown>>>,
    ): Map<string, ReturnType<typeof describeSettings>[number]> =>
      new Map(
        describeSettings(
          {
            flags: sources.flags ?? {},
            env: (sources.env ?? {}) as Record<string, string>,
            file: new Map(Object.entries(sources.file ?? {})),
          },
          { socket: "/run/l", adminSocket: "/run/a", dataDir: "/data", spoolDir: "/data/spool" },
        ).map((setting) => [setting.path, setting]),
      );
    const given = described({
      flags: { port: "81" },
      env: {
        PORT: "82",
        HOST: "::1",
        SLUICE_ALLOWED_HOSTS: "a.example, b.example",
        LOG_LEVEL: " ",
      },
      file: {
        "limiter.data_dir": "./d",
        "server.allow_open": true,
        log_level: "warn",
        "cache.enabled": null,
      },
    });
    const table = [
      ["server.port", "81", "flag", "--port"],
      ["server.host", "::1", "variable", "HOST"],
      ["server.allowed_hosts", "a.example, b.example", "variable", "SLUICE_ALLOWED_HOSTS"],
      ["server.allow_open", "true", "file", null],
      ["log_level", "warn", "file", null],
      ["cache.enabled", "false", "default", null],
      ["server.drain_seconds", "25", "default", null],
      ["server.master_key", "not set", "default", null],
      ["limiter.socket", "/run/l", "default", null],
      ["limiter.admin_socket", "/run/a", "default", null],
      ["limiter.data_dir", "./d", "file", null],
      ["limiter.spool_dir", "/data/spool", "default", null],
    ] as const;
    for (const [path, value, source, name] of table)
      t.match(given.get(path), { path, value, source, name }, path);
    t.equal(given.size, Object.keys(settings).length);
    const secret = "s3cr3t-0123456789-0123456789-0123456789";
    for (const { path, env, kind } of Object.values(settings)) {
      if (kind.quotable !== never && kind.label !== "secret") continue;
      for (const sources of [
        { file: { [path]: secret } },
        env === null ? {} : { env: { [env]: secret } },
      ]) {
        const all = [...described(sources).values()];
        t.notMatch(JSON.stringify(all), /s3cr3t/, path);
        if (Object.keys(sources).length > 0)
          t.match(described(sources).get(path), { value: "set", secret: true }, path);
      }
    }
  },
);

t.test("a blank variable and an empty key count as not given", async (t) => {
  t.same(
    resolve({ env: { PORT: " ", HOST: "" }, file: { "server.port": null, "server.host": "::1" } }),
    { problems: [], values: { ...resolve({}).values, host: "::1" } },
  );
});

t.test(
  "a wrong value is reported with its place, even if a stronger source overrides it",
  async (t) => {
    t.same(
      resolve({
        flags: { port: "a" },
        env: { PORT: "b", USAGE_ENABLED: "maybe" },
        file: { "server.port": "c", log_level: 5 },
      }).problems,
      [
        '--port must be an integer from 0 to 65535, not "a"',
        'PORT must be an integer from 0 to 65535, not "b"',
        'USAGE_ENABLED must be true or false (or yes, no, on, off, 1, 0), not "maybe"',
        'server.port must be an integer from 0 to 65535, not "c"',
        "log_level must be fatal, error, warn, info, debug, trace or silent, not 5",
      ],
    );
  },
);

t.test(
  "the table is consistent: names are unique, and each documented default is the default",
  async (t) => {
    const rows = Object.values(settings);
    for (const names of [
      rows.map(({ path }) => path),
      rows.flatMap(({ env }) => env ?? []),
      rows.flatMap(({ flag }) => flag ?? []),
    ])
      t.equal(new Set(names).size, names.length);
    for (const { path, kind, defaultText, defaultValue } of rows) {
      if (defaultText === "none" || defaultText === "see below")
        t.ok(
          defaultValue === null || (Array.isArray(defaultValue) && defaultValue.length === 0),
          path,
        );
      else t.same(kind.parse(defaultText), defaultValue, path);
    }
    t.equal(flagName("dataDir"), "--data-dir");
  },
);
