/**
 * Mistakes that users of gateways make, as public reports have them, through each way into a
 * configuration: what is told names the place, the value and what was expected, once.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { type Checked, isObject } from "../../shared/checked.js";
import { parseBudgetWrite } from "../../shared/domain/budget.js";
import { parseRuleWrite } from "../../shared/domain/rule.js";

import { run } from "./command-session.js";
import { temporaryDirectory } from "./program-run.js";

const directory = temporaryDirectory(t);
const file = join(directory, "sluice.yaml");
const emptyFile = join(directory, "empty.yaml");
writeFileSync(emptyFile, "");
const nowhere = ["--socket", join(directory, "d.sock")];

const openai = (fields: string): string => `providers:\n  openai: { ${fields} }\n`;
const own = (fields: string): string =>
  `providers:\n  mine: { ${fields}, base_url: http://10.0.0.1/v1 }\n`;
const rule = (fields: string): string =>
  `rate_limits: { user_paths: [{ path: /a, limits: [{ ${fields} }] }] }\n`;
const budget = (fields: string): string =>
  `budgets: { user_paths: [{ path: /a, limits: [{ ${fields} }] }] }\n`;
const price = (fields: string): string =>
  `${openai("api_key: k")}prices: { openai/gpt-4o: { ${fields} } }\n`;

/** Refused, with the only line about it. The reports are of GitHub. */
const refused: readonly (readonly [mistake: string, text: string | Buffer, line: RegExp])[] = [
  [
    "a pasted shell command, ii-researcher#5",
    "cat > sluice.yaml <<EOF\nserver: { port: 1 }\nEOF\n",
    /^f:2:7: this can't follow the lines above/,
  ],
  ["a pasted code block", "```yaml\nserver: { port: 1 }\n```\n", /^f:1:1: this can't follow/],
  [
    "entries without a dash, litellm#2322",
    "rate_limits:\n  user_paths:\n    path: /a\n",
    /^f:2:3: rate_limits\.user_paths must be a list, not a mapping: begin each entry with -$/,
  ],
  [
    "entries with a dash, bifrost#1865",
    "providers:\n  - name: openai\n",
    /^f:1:1: providers must be a mapping of names, not a list: write each name as a key, without -$/,
  ],
  [
    "a misplaced level, LibreChat#4939",
    "server:\n  port: 1\n   host: h\n",
    /^f:3:8: wrong indentation/,
  ],
  [
    "a section at the margin, GoModel#509",
    "providers:\nmine:\n  type: openai\n",
    /^f:2:1: mine is not a known key; if it is one of providers, indent it$/,
  ],
  [
    "a whole file one level deeper, litellm#30026",
    "proxy_config:\n  server: { port: 1 }\n",
    /^f:1:1: proxy_config is not a known key: expected /,
  ],
  [
    "= instead of a colon, litellm#2402",
    "server:\n  port=8080\n",
    /^f:1:1: server must be a mapping of host, port, .*, not a text$/,
  ],
  [
    "a file of variables",
    "OPENAI_API_KEY=sk-1\nPORT=1\n",
    /^f: the file must be a mapping of .*, not a text$/,
  ],
  [
    "another gateway's file, litellm#7799",
    "model_list:\n  - model_name: a\n",
    /^f:1:1: model_list is not a known key; of LiteLLM's file, sluice import litellm makes this one$/,
  ],
  [
    "tabs, llama.cpp#14819",
    "providers:\n\tmine: {}\n",
    /^f:2:1: tabs can't be used as indentation: use spaces$/,
  ],
  [
    "no-break spaces",
    "server:\n\u00a0\u00a0port: 1\n",
    /^f:2:1: .* is not a known key; it has an invisible character/,
  ],
  [
    "UTF-16 of Windows, beats#2354",
    Buffer.from("\ufeffserver: { port: 1 }\n", "utf16le"),
    /^f: the file isn't UTF-8 text$/,
  ],
  [
    "a key twice",
    "server: { port: 1 }\nserver: { port: 2 }\n",
    /^f:2:1: the key server appears twice$/,
  ],
  [
    "two documents",
    "server: { port: 1 }\n---\nserver: {}\n",
    /^f:2:1: the file holds several documents/,
  ],
  ["an anchor that isn't there", "server: *base\n", /^f:1:9: an alias without its anchor/],
  [
    "a setting without its section",
    "port: 8080\n",
    /^f:1:1: port is not a known key; did you mean server\.port\?$/,
  ],
  [
    "a misspelt setting, semantic-router#1658",
    "server: { prot: 1 }\n",
    /^f:1:11: server\.prot is not a known key; did you mean port\?$/,
  ],
  [
    "a misspelt section",
    "ratelimits: {}\n",
    /^f:1:1: ratelimits is not a known key; did you mean rate_limits\?$/,
  ],
  [
    "rpm at the top",
    "rpm: 10\n",
    /^f:1:1: rpm is not a known key; write rate_limits: \{ user_paths: \[\{ path: \/, limits: \[\{ period: minute, max_requests: … \}\] \}\] \}$/,
  ],
  [
    "rpm of a provider, litellm#7200",
    openai("api_key: k, rpm: 10"),
    /openai\.rpm is not a known key; limits of a provider are in rate_limits\.providers$/,
  ],
  [
    "a misspelt type",
    openai("type: openia"),
    /openai\.type must be openai, .*, not "openia"; did you mean openai\?$/,
  ],
  [
    "camel case",
    `providers:\n  mine: { apiKey: k, base_url: "https://x/v1" }\n`,
    /mine\.apiKey is not a known key; did you mean api_key\?$/,
  ],
  [
    "another name, without what follows from it",
    "providers:\n  mine: { api_base: https://x/v1 }\n",
    /mine\.api_base is not a known key; did you mean base_url\?$/,
  ],
  [
    "an unset variable, litellm#6332",
    openai('base_url: "${NOPE}"'),
    /base_url needs the environment variable NOPE, which isn't set$/,
  ],
  [
    "a variable without braces",
    openai("api_key: $OPENAI_API_KEY"),
    /api_key looks like a variable without its braces/,
  ],
  [
    "LiteLLM's variables, litellm#1851",
    openai("api_key: os.environ/OPENAI_API_KEY"),
    /api_key has a variable in another program's notation: write \$\{OPENAI_API_KEY\}$/,
  ],
  [
    "Bifrost's variables",
    openai("api_key: env.OPENAI_API_KEY"),
    /another program's notation: write \$\{OPENAI_API_KEY\}$/,
  ],
  [
    "Kubernetes' variables",
    openai("api_key: $(OPENAI_API_KEY)"),
    /another program's notation: write/,
  ],
  [
    "variables of Windows",
    openai("api_key: '%OPENAI_API_KEY%'"),
    /another program's notation: write/,
  ],
  [
    "variables of templates",
    openai("api_key: '{{ OPENAI_API_KEY }}'"),
    /another program's notation: write/,
  ],
  [
    "a default of a variable",
    openai('api_key: "${OPENAI_API_KEY:-x}"'),
    /gives the variable OPENAI_API_KEY a default, which Sluice doesn't have/,
  ],
  [
    "a key with Bearer, litellm#2052",
    own("api_key: Bearer sk-hunter2"),
    /api_key must be a text of .*: leave out the word before the key$/,
  ],
  [
    "a key with its header",
    own("api_key: 'Authorization: Bearer sk-hunter2'"),
    /: leave out the header's name$/,
  ],
  [
    "two keys in one secret, untether#594",
    own('api_key: "sk-hunter2\\nsk-hunter3"'),
    /: it has several lines$/,
  ],
  [
    "a key in quotes of an env file",
    own("api_key: '\"sk-hunter2\"'"),
    /: leave out the quotes, which are part of the text here$/,
  ],
  ["a key with a space, devlake#7132", own("api_key: sk-hunter2 x"), /: it has a space in it$/],
  [
    "a key with an invisible character",
    own('api_key: "sk-hunter2\\u200b"'),
    /: it has a character that isn't ASCII, perhaps invisible$/,
  ],
  ["a key that is a number", own("api_key: 12345"), /: put it in quotes$/],
  [
    "a scheme twice, GoModel#823",
    openai("base_url: http://https://x/v1"),
    /base_url must be an http or https URL .*, not "http:\/\/https:\/\/x\/v1"$/,
  ],
  ["no scheme", openai("base_url: localhost:8000/v1"), /base_url must be an http or https URL/],
  [
    "a port that isn't one, kong#12869",
    openai("base_url: http://x:99999/v1"),
    /base_url must be an http/,
  ],
  [
    "a query of Azure's",
    openai("base_url: https://x/v1?api-version=1"),
    /base_url must be .* without credentials, query/,
  ],
  [
    "a model without its provider",
    `${openai("api_key: k")}virtual_models: { a: { targets: [{ model: gpt-4o }] } }\n`,
    /model must be provider\/model, not "gpt-4o"$/,
  ],
  [
    "a misspelt provider",
    `${openai("api_key: k")}aliases: { a: opnai/gpt-4o }\n`,
    /aliases\.a names the provider "opnai", which isn't configured; did you mean openai\?$/,
  ],
  [
    "another gateway's field of prices",
    price("input_cost_per_token: 0.0000025, output: 1"),
    /input_cost_per_token is not a known key; write input, in US dollars per million tokens$/,
  ],
  [
    "a price per token, litellm#20615",
    price("input: 0.0000025, output: 1"),
    /input must be a number of US dollars per million tokens/,
  ],
  ["seconds where milliseconds are", "limiter: { deadline_ms: 2s }\n", /not "2s": write 2000$/],
  ["a unit behind days", "usage: { retention_days: 30d }\n", /not "30d": write 30$/],
  ["minutes where seconds are", "server: { drain_seconds: 1m }\n", /not "1m": write 60$/],
  [
    "a home directory",
    "limiter: { data_dir: ~/sluice }\n",
    /data_dir must be a path of Linux, .* write \$\{HOME\}\), not "~\/sluice"$/,
  ],
  [
    "a home directory by its variable",
    "limiter: { data_dir: $HOME/sluice }\n",
    /not "\$HOME\/sluice"$/,
  ],
  [
    "a path of Windows",
    "limiter: { data_dir: 'C:\\sluice' }\n",
    /data_dir must be a path of Linux/,
  ],
  [
    "an address with its port",
    "server: { host: '0.0.0.0:8080' }\n",
    /host must be a host name or an IP address, without a port/,
  ],
];

for (const [mistake, text, line] of refused)
  t.test(`refused with one line: ${mistake}`, async (t) => {
    writeFileSync(file, text);
    const checked = await run(["config", "check", "--config", file], { cwd: directory });
    t.equal(checked.exitCode, 78);
    const lines = checked.err.replaceAll(file, "f").split("\n");
    t.match(lines, { 0: line, length: 1 });
    t.notMatch(checked.err, /hunter/);
    const started = await run(["up", "--config", file], { cwd: directory });
    t.match(started, { exitCode: 78, err: checked.err });
  });

t.test("what works, but is hardly meant, is warned of", async (t) => {
  for (const [mistake, text, warning] of [
    [
      "an endpoint in the base URL, OpenHands#13079",
      openai("api_key: k, base_url: https://x/v1/chat/completions"),
      /ends in \/chat\/completions, which is appended/,
    ],
    [
      "no TLS to a public host",
      openai("api_key: k, base_url: http://api.openai.com/v1"),
      /begins with http:\/\/.*write https:\/\/api\.openai\.com\/v1$/,
    ],
    [
      "a missing /v1, bytebot#70",
      "providers: { a: { type: ollama, base_url: 'http://h:1' } }\n",
      /did you mean http:\/\/h:1\/v1\?$/,
    ],
    [
      "an example's key",
      openai("api_key: your-api-key-here"),
      /looks like the placeholder of an example/,
    ],
    ["an unset key", openai('api_key: "${NOPE}"'), /needs the environment variable NOPE/],
    [
      "a pattern as a path",
      rule("period: minute, max_requests: 1").replace("/a", "/a/*"),
      /\* is no pattern: for each child write path: \/a and per_child: true$/,
    ],
    [
      "a rule of a misspelt model",
      `${openai("api_key: k")}rate_limits: { models: [{ model: opnai/o, limits: [{ period: day, max_tokens: 1 }] }] }\n`,
      /did you mean openai\/o\?$/,
    ],
    ["a guessable master key", "server: { master_key: sk-1234 }\n", /can be guessed/],
  ] as const) {
    writeFileSync(file, text);
    const checked = await run(["config", "check", "--config", file], { cwd: directory });
    t.match(checked, { exitCode: 0, err: warning }, mistake);
  }
});

t.test("what is unusual, but clear, is read", async (t) => {
  for (const [text, env] of [
    ["\ufeffserver: { port: 8081 }\n", {}],
    ["server:\r\n  port: 8081\r\n", {}],
    ['{ "server": { "port": "8081", }, }', {}],
    ["", { PORT: " 8081 " }],
    [
      openai('api_key: " sk-1\\n", base_url: " https://x.example/v1/ "').concat(
        "server: { port: 8081 }",
      ),
      {},
    ],
  ] as const) {
    writeFileSync(file, text);
    t.match(
      await run(["config", "check", "--config", file], { cwd: directory, env }),
      { exitCode: 0, out: /127\.0\.0\.1:8081/, err: "" },
      text,
    );
  }
});

const integer = /must be an integer from 1 to \d+, not "50(?:k|,000)": write 50000$/;
const dollars =
  /must be a finite number of US dollars greater than 0, not "(?:\$500|12,50)": write (?:500|12\.5)$/;

/** A mistake in a limit by each way in which limits are written; absent: it can't be made there. */
interface LimitMistake {
  /** In the configuration and in a file of limits. */
  readonly yaml?: readonly [text: string, line: RegExp];
  readonly env?: readonly [name: string, value: string, line: RegExp];
  readonly flags?: readonly [argv: readonly string[], line: RegExp];
  /** By the admin API, the dashboard's, and the socket. */
  readonly body?: readonly [body: object, message: RegExp];
}

const minute = { user_path: "/a", limit_key: { period: "minute" } };
const limitMistakes: Readonly<Record<string, LimitMistake>> = {
  rpm: {
    yaml: [
      rule("rpm: 10"),
      /\.rpm is not a known key; write \{ period: minute, max_requests: … \}$/,
    ],
    body: [
      { ...minute, rpm: 10 },
      /^unknown field rpm: write "limit_key": \{"period": "minute"\}, "max_requests": …$/,
    ],
  },
  "a period beside the key": {
    yaml: [
      rule("period: minute, limit_key: { period: minute }, max_requests: 1"),
      /limit_key is not a known key; write its period here, without it$/,
    ],
    body: [
      { ...minute, period: "minute" },
      /^unknown field period: write "limit_key": \{"period": …\}$/,
    ],
  },
  "a misspelt period": {
    yaml: [
      rule("period: minut, max_requests: 1"),
      /period must be minute, hour, .*, not "minut"; did you mean minute\?$/,
    ],
    env: ["SET_RATE_LIMIT_A", "rmp=5", /holds the unknown key "rmp"; did you mean rpm\?$/],
    flags: [
      ["limits", "set", "/a", "--period", "minut", "--requests", "5"],
      /--period must be minute, .*, not "minut"; did you mean minute\?$/,
    ],
    body: [
      { user_path: "/a", limit_key: { period: "minut" }, max_requests: 1 },
      /^limit_key\.period must be .*, not "minut"; did you mean minute\?$/,
    ],
  },
  "a short number": {
    yaml: [rule("period: minute, max_tokens: 50k"), integer],
    env: ["SET_RATE_LIMIT_A", "tpm=50k", integer],
    flags: [["limits", "set", "/a", "--tpm", "50k"], integer],
    body: [{ ...minute, max_tokens: "50k" }, integer],
  },
  "a number with a comma": {
    yaml: [rule("period: minute, max_tokens: '50,000'"), integer],
    env: [
      "SET_RATE_LIMIT_A",
      "tpm=50,000",
      /must hold pairs such as rpm=100, not "000": a comma begins the next pair$/,
    ],
    flags: [["limits", "set", "/a", "--tpm", "50,000"], integer],
    body: [{ ...minute, max_tokens: "50,000" }, integer],
  },
  "a negative cap, litellm#18554": {
    yaml: [rule("period: minute, max_tokens: -5"), /max_tokens must be greater than 0, not -5$/],
    env: ["SET_RATE_LIMIT_A", "tpm=-5", /tpm must be greater than 0, not "-5"$/],
    flags: [["limits", "set", "/a", "--tpm", "-5"], /--tpm must be greater than 0, not -5$/],
    body: [{ ...minute, max_tokens: -5 }, /^max_tokens must be greater than 0, not -5$/],
  },
  "an amount with its currency": {
    yaml: [budget("period: monthly, amount: $500"), dollars],
    env: ["SET_BUDGET_A", "monthly=$500", dollars],
    flags: [["budgets", "set", "/a", "--monthly", "$500"], dollars],
    body: [{ user_path: "/a", budget_key: { period: "monthly" }, amount: "$500" }, dollars],
  },
  "an amount with a decimal comma": {
    yaml: [budget("period: monthly, amount: '12,50'"), dollars],
    env: [
      "SET_BUDGET_A",
      "monthly=12,50",
      /must hold pairs such as daily=10, not "50": a comma begins/,
    ],
    flags: [["budgets", "set", "/a", "--monthly", "12,50"], dollars],
    body: [{ user_path: "/a", budget_key: { period: "monthly" }, amount: "12,50" }, dollars],
  },
  "a length of time as a period": {
    yaml: [budget("period: 30d, amount: 5"), /not "30d": write 2592000 as .*period_seconds$/],
    env: ["SET_BUDGET_A", "30d=5", /holds the unknown key "30d": expected hourly, /],
    flags: [
      ["budgets", "set", "/a", "--period", "30d", "--amount", "5"],
      /not "30d": write 2592000 as --period-seconds$/,
    ],
    body: [
      { user_path: "/a", budget_key: { period: "30d" }, amount: 5 },
      /not "30d": write 2592000 as budget_key\.period_seconds$/,
    ],
  },
  "a misspelt field": {
    yaml: [
      rule("period: minute, max_request: 1"),
      /max_request is not a known key; did you mean max_requests\?$/,
    ],
    flags: [
      ["limits", "set", "/a", "--rmp", "5"],
      /^error: unknown option '--rmp' \(Did you mean --rpm\?\)$/,
    ],
    body: [
      { ...minute, max_request: 1 },
      /^unknown field max_request: did you mean max_requests\?$/,
    ],
  },
  "a path with a colon": {
    yaml: [
      rule("period: minute, max_requests: 1").replace("/a", "'/C:'"),
      /path must not hold a colon or a control character, as "\/C:" does$/,
    ],
    flags: [["limits", "set", "/C:", "--rpm", "5"], /subject must not hold a colon/],
    body: [{ ...minute, user_path: "/C:", max_requests: 1 }, /^user_path must not hold a colon/],
  },
  "no cap": {
    yaml: [rule("period: minute"), /max_requests is required, or another cap: max_tokens, /],
    flags: [
      ["limits", "set", "/a"],
      /^error: nothing to set: give --period with one of --requests/,
    ],
    body: [minute, /^max_requests is required, or another cap/],
  },
};

function parsed(body: object): Checked<unknown> {
  const options = { perChildEntitled: true };
  return isObject(body) && "budget_key" in body
    ? parseBudgetWrite(body, options)
    : parseRuleWrite(body, options);
}

for (const [mistake, { yaml, env, flags, body }] of Object.entries(limitMistakes))
  t.test(`a limit is refused by each way, and nothing is set: ${mistake}`, async (t) => {
    if (yaml !== undefined) {
      const [text, line] = yaml;
      writeFileSync(file, text);
      const checked = await run(["config", "check", "--config", file], { cwd: directory });
      t.equal(checked.exitCode, 78);
      t.match(checked.err.split("\n"), { 0: line, length: 1 }, "the configuration");
      const applied = await run(["limits", "apply", file, "--yes", ...nowhere]);
      t.equal(applied.exitCode, 2);
      t.match(applied.err.split("\n"), { 0: line, 1: "nothing was changed", length: 2 }, "a file");
    }
    if (env !== undefined) {
      const [name, value, line] = env;
      const checked = await run(["config", "check"], {
        cwd: directory,
        env: { SLUICE_CONFIG: emptyFile, [name]: value },
      });
      t.match(checked, { exitCode: 78, err: line }, "a variable");
      t.match(checked.err, new RegExp(`^environment: ${name}`));
      t.notMatch(checked.err, /\n/);
    }
    if (flags !== undefined) {
      const [argv, line] = flags;
      const set = await run([...argv, ...nowhere]);
      t.match(set, { exitCode: 2, err: line }, "flags");
      t.notMatch(set.err, /\n/);
    }
    if (body !== undefined) {
      const [given, message] = body;
      const answer = parsed(given);
      t.match(answer.ok ? "" : answer.failure.message, message, "the admin API");
    }
  });
