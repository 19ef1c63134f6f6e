import t from "tap";
import { exactly } from "../../../support/patterns/exactly.js";
import { accepted, refused } from "../resolve-sample.js";

const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
const slack = "https://hooks.slack.com/services/T0/B0/XXXX";
const json = `url: "https://alerts.example/x", secret: "${secret}"`;

t.test("alerts have their defaults, and Slack's URL has Slack's format", async (t) => {
  const alerts = (text: string) => accepted(`alerts: [ ${text} ]\n`).config.alerts;
  t.same(accepted("alerts:\n").config.alerts, []);
  const [first, second] = alerts(`{ url: "${slack}" }, { ${json}, at: [1, 0.5, 0.5] }`);
  const defaults = { forecast: true, rateLimits: false, secretFile: null, proxy: null };
  t.match(first, { ...defaults, url: slack, at: exactly([0.8, 1]), format: "slack", secret: null });
  t.match(second, { ...defaults, at: exactly([0.5, 1]), format: "json", secret });
  t.not(first!.id, second!.id);
  t.match(alerts('{ url: "https://a.example", secret_file: s, limits: all, forecast: no }')[0], {
    secretFile: /\/s$/,
    rateLimits: true,
    forecast: false,
  });
});

t.test("the variable replaces the file's alerts", async (t) => {
  const of = (value: string) =>
    accepted(`alerts: [{ ${json} }]\n`, { env: { SLUICE_ALERTS: value } }).config.alerts;
  t.match(
    of(JSON.stringify([{ url: slack, at: [0.5] }])),
    exactly([{ url: slack, at: exactly([0.5]) }]),
  );
  t.same(of("[]"), []);
  t.equal(of(" ").length, 1);
  t.same(
    refused("", { env: { SLUICE_ALERTS: '[{"url":"https://hooks.slack.com/x","att":[1]}]' } }),
    ["SLUICE_ALERTS[0].att is not a known key; did you mean at?"],
  );
  t.match(
    refused("", { env: { SLUICE_ALERTS: "https://x.example" } })[0],
    /^SLUICE_ALERTS must be a JSON/,
  );
});

t.test("plain and link-local addresses are refused, except inside", async (t) => {
  const inside = [
    "https://a.example/x?y=z",
    "http://localhost:9000/",
    "http://127.0.0.1/",
    "http://10.1.2.3/",
    "http://[::1]:8080/",
    "http://receiver:8080/",
    "http://receiver.ns.svc/",
  ];
  for (const url of inside)
    t.equal(accepted(`alerts: [{ url: "${url}", secret: "${secret}" }]\n`).config.alerts.length, 1);
  const outside = [
    "http://a.example/",
    "http://8.8.8.8/",
    "https://169.254.169.254/",
    "http://[fe80::1]/",
    "https://user:password@a.example/",
    "ftp://a.example/",
    "a.example",
  ];
  for (const url of outside) {
    const [problem] = refused(`alerts: [{ url: "${url}", secret: "${secret}" }]\n`);
    t.match(problem, /^alerts\[0\]\.url must be an https URL /, url);
    t.notMatch(problem, url, "it may be a secret");
  }
});

t.test("what doesn't fit together is reported with its place", async (t) => {
  const thresholds =
    "must be a list of 1 to 10 shares such as [0.5, 0.8, 1.0], each at least a hundredth and up to 10 (1.0 is all of a limit)";
  for (const [body, problem] of [
    ["{}", /^alerts\[0\]\.url is required$/],
    [`{ ${json}, at: [80] }`, `alerts[0].at ${thresholds}, not [80]`],
    [`{ ${json}, at: [] }`, `alerts[0].at ${thresholds}, not []`],
    [`{ ${json}, secret_file: x }`, /must have one of secret and secret_file, not both$/],
    ["{ url: https://a.example }", /^alerts\[0\]\.secret is required for the format json, /],
    [`{ ${json}, format: slack }`, /^alerts\[0\]\.secret is for the format json: /],
    [`{ ${json} }, { ${json} }`, /^alerts\[1\] has the same url as alerts\[0\]: /],
    [
      "{ url: https://a.example, secret: short }",
      /^alerts\[0\]\.secret must be whsec_ and 24 to 64/,
    ],
  ] as const) {
    const problems = refused(`alerts: [ ${body} ]\n`);
    t.equal(problems.length, 1, body);
    t.match(problems[0], problem, body);
  }
  const many = Array.from({ length: 11 }, (_, i) => `{ url: https://hooks.slack.com/${i} }`).join();
  t.match(refused(`alerts: [${many}]\n`)[0], "alerts must have at most 10 entries, not 11");
});
