/**
 * Files and environments, made of the complete example and mutated line by line and byte by byte.
 * Each is a configuration, or a list of problems that a person can read; nothing is thrown.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { problemLine } from "../../../shared/config/problems.js";
import { resolveConfig } from "../../../shared/config/resolve/resolve-config.js";
import type { Random } from "../../sim/random.js";
import { root } from "../../tidy/source-tree.js";
import { type FuzzTarget, must } from "../fuzz-target.js";
import { mutateBytes } from "../mutate/mutate-bytes.js";
import { mutateLines, oddYaml } from "../mutate/mutate-lines.js";
import { oddText, runUnit } from "../mutate/odd-values.js";

const example = readFileSync(join(root, "docs/examples/sluice.yaml"), "utf8");
/** With what is commented out there. */
const sections = example
  .replace(/^# (jwt:|[ ]{2}(?=[- ]))/gm, "$1")
  .replace(/ +#(?: .*)?$/gm, "")
  .split(/\n(?=[a-z])/);
const words = [...new Set(example.match(/[\w./*-]{2,}/g))];

const variables: readonly (readonly [name: string, value: string])[] = [
  ["PORT", "8080"],
  ["HOST", "127.0.0.1"],
  ["SLUICE_MASTER_KEY", "secret"],
  ["SLUICE_SOCKET", "/run/x.sock"],
  ["SLUICE_DATA_DIR", "data"],
  ["SLUICE_ENTITLEMENTS", "quota_templates"],
  ["SLUICE_ALLOW_OPEN", "true"],
  ["OPENAI_API_KEY", "sk-1"],
  ["OLLAMA_BASE_URL", "http://127.0.0.1:1/v1"],
  ["RATE_LIMITS_ENABLED", "true"],
  ["RATE_LIMITS_FLUSH_INTERVAL", "1"],
  ["USAGE_ENABLED", "false"],
  ["USAGE_RETENTION_DAYS", "400"],
  ["CACHE_MAX_BYTES", "1000000"],
  ["USER_PATH_HEADER", "X-A"],
  ["LOG_LEVEL", "info"],
  ["SET_RATE_LIMIT_TEAM__APP", "rpm=60,tpm=1000"],
  ["SET_RATE_LIMIT_", "rpd=5,concurrent=3"],
  ["SET_RATE_LIMIT_TEAM", '[{"period":"minute","max_requests":5,"per_child":true}]'],
  ["SET_PROVIDER_RATE_LIMIT_OPENAI", "rph=60"],
  ["SET_BUDGET_TEAM", "daily=5"],
  ["SET_BUDGET_TEAM__X", '[{"period":"monthly","amount":5.5}]'],
];

function environmentOf(random: Random): Record<string, string> {
  const env: Record<string, string> = {};
  for (let left = random.int(0, 5); left > 0; left--) {
    const [name, value] = random.pick(variables);
    const mutated = random.chance(0.5)
      ? value
      : random.chance(0.5)
        ? oddText(random)
        : mutateBytes(Buffer.from(value), random).toString();
    env[random.chance(0.9) ? name : name + oddText(random).toUpperCase()] = mutated;
  }
  return env;
}

/** Lists in lists, long lines, and anchors that name each other: what a parser goes back for. */
function monster(random: Random): string {
  const count = Math.round(random.skewed(10, 20_000));
  if (random.chance(0.3)) {
    const bomb = Array.from({ length: random.int(2, 30) }, (_, i) =>
      i === 0 ? "a0: &a0 [x, x]" : `a${i}: &a${i} [${`*a${i - 1}, `.repeat(9)}*a${i - 1}]`,
    );
    return bomb.join("\n");
  }
  const unit = random.chance(0.5)
    ? runUnit(random)
    : random.pick(["[", "{a: ", "- ", "? ", "a:\n ", "&a ", "!!str "]);
  return `${random.pick(words)}: ${unit.repeat(count)}`;
}

function fileOf(random: Random): string {
  if (random.chance(0.002)) return monster(random);
  const chosen = sections.filter(() => random.chance(0.25));
  let text = mutateLines((chosen.length === 0 ? sections : chosen).join("\n"), words, random);
  if (random.chance(0.1)) text = mutateBytes(Buffer.from(text), random).toString();
  return random.chance(0.02) ? text.replaceAll("\n", random.pick(["\r\n", "\r", "\u2028"])) : text;
}

function tryConfiguration(random: Random): number {
  const env = environmentOf(random);
  const file = random.chance(0.95) ? { path: "/srv/sluice.yaml", text: fileOf(random) } : null;
  const flags = random.chance(0.1) ? { port: oddYaml(random) } : {};
  const result = resolveConfig({
    file,
    flags,
    env,
    cwd: "/srv",
    uid: random.chance(0.5) ? 0 : 1000,
  });
  if (result.ok) {
    JSON.stringify(result.config);
    return 1;
  }
  must(result.problems.length > 0, "a configuration is refused for a reason");
  for (const problem of result.problems) {
    must(problem.message !== "" && !problemLine(problem).includes("\n"), "a problem is one line");
  }
  return 1;
}

export const configuration: FuzzTarget = {
  name: "configuration",
  share: 0.5,
  open: () => Promise.resolve({ run: tryConfiguration, close: () => Promise.resolve() }),
};
