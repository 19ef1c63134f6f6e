import t from "tap";
import { accepted, refused } from "../resolve-sample.js";

t.test(
  "the master key is in a setting or in a file, and the environment's is in place of the file's",
  async (t) => {
    const key = (text: string, env = {}): readonly unknown[] => {
      const { masterKey, masterKeyFile } = accepted(`server: { ${text} }\n`, { env }).config.server;
      return [masterKey, masterKeyFile];
    };
    const variable = { SLUICE_MASTER_KEY: "e" };
    const file = { SLUICE_MASTER_KEY_FILE: "/e" };
    t.same(key(""), [null, null]);
    t.same(key("master_key: k"), ["k", null]);
    t.same(key("master_key_file: k"), [null, "/srv/k"]);
    t.same(key("master_key_file: '${NOPE}/k'"), [null, "/srv/${NOPE}/k"]);
    t.same(key("master_key: k", file), [null, "/e"]);
    t.same(key("master_key_file: k", variable), ["e", null]);
    t.same(refused("server: { master_key: k, master_key_file: f }\n"), [
      "server.master_key and server.master_key_file are both set: keep one of them",
    ]);
    t.same(refused(null, { env: { ...variable, ...file } }), [
      "SLUICE_MASTER_KEY and SLUICE_MASTER_KEY_FILE are both set: keep one of them",
    ]);
  },
);

t.test("so is the token for scrapes", async (t) => {
  const { metrics } = accepted("metrics: { token_file: t }\n").config;
  t.same([metrics.token, metrics.tokenFile], [null, "/srv/t"]);
  const env = { SLUICE_METRICS_TOKEN: "e" };
  const both = accepted("metrics: { token_file: t }\n", { env }).config.metrics;
  t.same([both.token, both.tokenFile], ["e", null]);
  t.same(refused("metrics: { token: k, token_file: f }\n"), [
    "metrics.token and metrics.token_file are both set: keep one of them",
  ]);
  const unset = accepted("metrics: { token: '${NOPE}' }\n").config.metrics;
  t.equal(unset.token, null);
});

t.test("so are the headers for a collector", async (t) => {
  const { tracing } = accepted("tracing: { headers_file: t }\n").config;
  t.same([tracing.headers, tracing.headersFile], [null, "/srv/t"]);
  t.same(refused("tracing: { headers: a=b, headers_file: f }\n"), [
    "tracing.headers and tracing.headers_file are both set: keep one of them",
  ]);
});

t.test("a gateway with a file for its master key isn't open", async (t) => {
  const { settings } = accepted("server: { master_key_file: /run/key }\n").config;
  t.match(
    settings.find(({ path }) => path === "server.master_key_file"),
    { value: "/run/key", secret: false },
  );
});

t.test(
  "where spans go is OpenTelemetry's variables' word, the signal's own before the common one",
  async (t) => {
    const ofFile = "tracing: { endpoint: 'http://file:4318/base/' }\n";
    const wholeInFile = "tracing: { traces_endpoint: 'http://file/own' }\n";
    for (const [text, env, endpoint] of [
      [null, {}, null],
      [ofFile, {}, "http://file:4318/base/v1/traces"],
      [ofFile, { OTEL_EXPORTER_OTLP_ENDPOINT: "http://env:4318" }, "http://env:4318/v1/traces"],
      [ofFile, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://env/a/?b=1" }, "http://env/a/?b=1"],
      [null, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://env:1" }, "http://env:1/"],
      [wholeInFile, { OTEL_EXPORTER_OTLP_ENDPOINT: "http://env" }, "http://file/own"],
      [ofFile, { OTEL_SDK_DISABLED: "True" }, null],
      [ofFile, { OTEL_SDK_DISABLED: "" }, "http://file:4318/base/v1/traces"],
    ] as const) {
      const { config, warnings } = accepted(text, { env });
      t.equal(config.tracing.endpoint, endpoint, JSON.stringify([text, env]));
      t.same(warnings, []);
    }
  },
);
