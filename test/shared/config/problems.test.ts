import t from "tap";
import { parseYaml } from "../../../shared/config/file/parse-yaml.js";
import { locateProblems } from "../../../shared/config/problems.js";
import { refused } from "./resolve-sample.js";

const text = `server:
  port: x
providers:
  "a b": { api_key: k }
rate_limits:
  user_paths:
    - path: /a
      limits:
        - { period: day, max_requests: 0 }
`;
const file = { text, places: parseYaml(text).places };

t.test(
  "a problem of the file has the line and column of its path, or of what is above",
  async (t) => {
    for (const [message, line, column] of [
      ["server.port must be an integer", 2, 3],
      ["server.host is required", 1, 1],
      ['providers["a b"].api_key must be a text', 4, 12],
      ["rate_limits.user_paths[0]: per_child needs something", 7, 7],
      ["rate_limits.user_paths[0].limits[0].max_requests must be greater", 9, 26],
      ["rate_limits.user_paths[7].path is required", 6, 3],
    ] as const) {
      const [located] = locateProblems([{ kind: "file", place: "f", message }], file);
      t.same(located?.position, { line, column }, message);
    }
  },
);

t.test("other problems have no position, and the order stays", async (t) => {
  const problems = [
    { kind: "environment", place: "environment", message: "server.port is a variable here" },
    { kind: "file", place: "f", message: "the file must be a mapping" },
    { kind: "file", place: "f", message: "server.port is wrong" },
  ] as const;
  const located = locateProblems(problems, file);
  t.same(
    located.map(({ position }) => position?.line),
    [undefined, undefined, 2],
  );
  t.same(
    located.map(({ message }) => message),
    problems.map(({ message }) => message),
  );
});

t.test(
  "a mistake has one message: without what only follows from it, and with what to write",
  async (t) => {
    const limit = (fields: string) =>
      `rate_limits: { user_paths: [ { path: /a, limits: [ { ${fields} } ] } ] }\n`;
    const provider = (fields: string) =>
      `providers: { mine: { ${fields}, api_key: k, models: [m] } }\n`;
    for (const [text, expected] of [
      [
        "rate_limits: { user_paths: [{ path: /a, rpm: 10 }] }",
        /\[0\]\.rpm is not a known key; write limits: \[\{ period: minute, max_requests: … \}\]$/,
      ],
      [limit("rpm: 10"), /\.rpm is not a known key; write \{ period: minute, max_requests: … \}$/],
      [
        limit("period: minute, limit_key: { period: minute }, max_requests: 1"),
        /\.limit_key is not a known key; write its period here, without it$/,
      ],
      [limit("tpd: 10"), /\.tpd is not a known key; write \{ period: day, max_tokens: … \}$/],
      [
        provider('type: openai, base_url: "${NO_SUCH_VARIABLE}"'),
        /\.base_url needs the environment variable NO_SUCH_VARIABLE, which isn't set$/,
      ],
      [
        provider("type: openia, base_url: https://x.example"),
        /not "openia"; did you mean openai\?$/,
      ],
    ] as const) {
      const problems = refused(text);
      t.equal(problems.length, 1, text);
      t.match(problems[0], expected);
    }
  },
);
