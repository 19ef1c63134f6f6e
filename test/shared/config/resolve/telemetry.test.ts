import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import t from "tap";
import {
  readTelemetryVariables,
  telemetryVariables,
} from "../../../../shared/config/resolve/telemetry.js";
import { settings } from "../../../../shared/config/settings/settings.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { accepted } from "../resolve-sample.js";

const endpoint = "http://127.0.0.1:4318";

t.test("OpenTelemetry's switches decide whether there are spans", async (t) => {
  for (const [name, value, off, warning] of [
    ["OTEL_SDK_DISABLED", "True", true, null],
    ["OTEL_SDK_DISABLED", " ", false, null],
    ["OTEL_SDK_DISABLED", "1", false, /^OTEL_SDK_DISABLED must be true or false/],
    ["OTEL_TRACES_EXPORTER", "none", true, null],
    ["OTEL_TRACES_EXPORTER", " None ", true, null],
    ["OTEL_TRACES_EXPORTER", "otlp", false, null],
    ["OTEL_TRACES_EXPORTER", "OTLP,none", false, null],
    ["OTEL_TRACES_EXPORTER", "", false, null],
    [
      "OTEL_TRACES_EXPORTER",
      "console",
      false,
      /^OTEL_TRACES_EXPORTER is "console": .* takes it for unset$/,
    ],
    ["OTEL_TRACES_EXPORTER", "otlp,zipkin", false, /^OTEL_TRACES_EXPORTER is "otlp,zipkin": /],
    ["OTEL_TRACES_EXPORTER", "none,zipkin", false, /^OTEL_TRACES_EXPORTER is "none,zipkin": /],
  ] as const) {
    const { config, warnings } = accepted(`tracing: { endpoint: "${endpoint}" }\n`, {
      env: { [name]: value },
    });
    t.equal(config.tracing.endpoint, off ? null : `${endpoint}/v1/traces`, `${name}=${value}`);
    if (warning === null) t.same(warnings, [], `${name}=${value}`);
    else t.match(warnings, exactly([warning]), `${name}=${value}`);
  }
});

t.test("an exporter without an address is a warning", async (t) => {
  const env = { OTEL_TRACES_EXPORTER: "otlp" };
  t.match(
    accepted(null, { env }).warnings,
    exactly([
      /^OTEL_TRACES_EXPORTER is "otlp", but no spans are made: set OTEL_EXPORTER_OTLP_ENDPOINT/,
    ]),
  );
  t.same(accepted(null, { env: { ...env, OTEL_SDK_DISABLED: "true" } }).warnings, []);
  t.same(accepted(null, { env: { OTEL_TRACES_EXPORTER: "none" } }).warnings, []);
});

t.test(
  "spans are written as the protocol says, the signal's own before the common one",
  async (t) => {
    const own = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL";
    const common = "OTEL_EXPORTER_OTLP_PROTOCOL";
    for (const [env, protocol, warning] of [
      [{}, "http/json", null],
      [{ [common]: "http/json" }, "http/json", null],
      [{ [common]: "HTTP/Protobuf" }, "http/protobuf", null],
      [{ [own]: "http/protobuf", [common]: "grpc" }, "http/protobuf", null],
      [{ [own]: "", [common]: "http/protobuf" }, "http/protobuf", null],
      [{ [common]: "grpc" }, "http/json", /^OTEL_EXPORTER_OTLP_PROTOCOL is "grpc": .*4318$/],
      [{ [own]: "gRPC", [common]: "http/protobuf" }, "http/json", /_TRACES_PROTOCOL is "gRPC": /],
      [{ [common]: `\u001b${"x".repeat(100)}` }, "http/json", /is "\\u001bx{59}": /],
    ] as const) {
      const read = readTelemetryVariables(env, true);
      t.equal(read.protocol, protocol, JSON.stringify(env));
      if (warning === null) t.same(read.warnings, []);
      else t.match(read.warnings, exactly([warning]));
      t.same(readTelemetryVariables(env, false).warnings, [], "nothing of spans that aren't made");
    }
  },
);

t.test(
  "a sampler that only other programs know is ignored, and nothing refuses to start",
  async (t) => {
    const name = "OTEL_TRACES_SAMPLER";
    const arg = "OTEL_TRACES_SAMPLER_ARG";
    const ofFile = "tracing: { sampler: always_on, sample: 0.5 }\n";
    for (const [env, sampler, sample, warning] of [
      [{ [name]: "Always_Off", [arg]: "0.25" }, "always_off", 0.25, null],
      [
        { [name]: "jaeger_remote", [arg]: "endpoint=http://x" },
        ...[
          "always_on",
          0.5,
          /^OTEL_TRACES_SAMPLER is ignored: it must be .*, not "jaeger_remote"$/,
        ],
      ],
      [{ [name]: "xray" }, "always_on", 0.5, /not "xray"$/],
      [{ [arg]: "2" }, "always_on", 0.5, /^OTEL_TRACES_SAMPLER_ARG is ignored: it .*, not "2"$/],
      [{ [name]: " ", [arg]: "" }, "always_on", 0.5, null],
    ] as const) {
      const { config, warnings } = accepted(ofFile, { env });
      t.match(config.tracing, { sampler, sample }, JSON.stringify(env));
      if (warning === null) t.same(warnings, []);
      else t.match(warnings, exactly([warning]));
    }
  },
);

t.test("malformed headers for spans are reported without their values", async (t) => {
  const name = "OTEL_EXPORTER_OTLP_TRACES_HEADERS";
  t.match(readTelemetryVariables({ [name]: "a=b" }, true), {
    headers: "a=b",
    warnings: { length: 0 },
  });
  const { headers, warnings } = readTelemetryVariables({ [name]: "hidden key" }, true);
  t.equal(headers, null);
  t.match(warnings, exactly([/^OTEL_EXPORTER_OTLP_TRACES_HEADERS must be name=value/]));
  t.notMatch(warnings, [/hidden/]);
});

t.test("the page on tracing names every variable that is read, and no other", async (t) => {
  const page = readFileSync("docs/reference/tracing.md", "utf8");
  const documented = new Set(page.match(/\bOTEL_[A-Z_]+[A-Z]\b/g));
  const ours = Object.values(settings).flatMap(({ env }) => (/^OTEL_/.test(env ?? "") ? env! : []));
  const read = new Set([...ours, ...telemetryVariables, ...readByPackages()]);
  t.same([...read].filter((name) => !documented.has(name)).sort(), [], "read, but not on the page");
  t.same([...documented].filter((name) => !read.has(name)).sort(), [], "on the page, but not read");
});

/** What the packages of OpenTelemetry read of a process's environment, by their own texts. */
function readByPackages(): readonly string[] {
  const require = createRequire(import.meta.url);
  const names = ["otlp-exporter-base", "resources", "sdk-trace-base"].flatMap((name) => {
    const directory = dirname(require.resolve(`@opentelemetry/${name}`));
    const files = readdirSync(directory, { recursive: true, encoding: "utf8" });
    return files.flatMap((file) => {
      if (!file.endsWith(".js")) return [];
      const text = readFileSync(join(directory, file), "utf8");
      const found = text.matchAll(/['"`](OTEL_[A-Z_]+(?:\$\{signalIdentifier\}[A-Z_]+)?)['"`]/g);
      return [...found].map(([, name = ""]) => name.replace("${signalIdentifier}", "TRACES"));
    });
  });
  return [...new Set(names)];
}
