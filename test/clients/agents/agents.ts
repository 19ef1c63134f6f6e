/** The agents of the matrix, each with the settings that its users have. */
import { join } from "node:path";
import type { Job } from "../client.js";
import { tokensCounted } from "../counts.js";
import { type Agent, agentClient } from "./agent.js";

const isLater = ({ step }: Job): boolean => ["again", "compact", "after"].includes(step);

const claudeCode: Agent = {
  id: "claude-code",
  title: "Claude Code 2.1",
  dialect: "messages",
  command: ".bin/claude",
  also: ["count", "compact", "after", "search"],
  setUp: `\`\`\`sh
export ANTHROPIC_BASE_URL=http://127.0.0.1:8080
export ANTHROPIC_AUTH_TOKEN=sk-sluice-…
export ANTHROPIC_MODEL=openai/gpt-5.5
export ANTHROPIC_SMALL_FAST_MODEL=openai/gpt-5.5
claude
\`\`\``,
  files: () => ({}),
  env: ({ step, url, key, model }) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: key,
    ANTHROPIC_MODEL: model,
    ANTHROPIC_SMALL_FAST_MODEL: model,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    // Its WebSearch is offered from the beginning, not found by a tool that finds tools.
    ...(step === "search" ? { ENABLE_TOOL_SEARCH: "false" } : {}),
    DISABLE_AUTOUPDATER: "1",
    // Else it won't work without asking as root, as which CI runs.
    IS_SANDBOX: "1",
  }),
  args: (job) => [
    "-p",
    job.step === "count" ? "/context" : job.prompt,
    ...(isLater(job) ? ["--continue"] : []),
    "--dangerously-skip-permissions",
  ],
  // In a table, in thousands: what the provider tells of each of its parts.
  countIn: (output) => {
    const shown = /^\| Messages \| (?:([\d.]+)(k?))/m.exec(output);
    if (shown === null) return null;
    const count = Number(shown[1]) * (shown[2] === "k" ? 1000 : 1);
    return count === 4300 ? tokensCounted : count;
  },
};

const codexConfig = (url: string): string => `model_provider = "sluice"
check_for_update_on_startup = false

[model_providers.sluice]
name = "Sluice"
base_url = "${url}/v1"
env_key = "SLUICE_KEY"
wire_api = "responses"
supports_websockets = true
`;

const codex: Agent = {
  id: "codex",
  title: "Codex 0.171",
  dialect: "responses",
  command: ".bin/codex",
  also: ["picture", "after", "search"],
  setUp: `\`~/.codex/config.toml\`:

\`\`\`toml
model = "anthropic/claude-opus-4-8"
${codexConfig("http://127.0.0.1:8080")}\`\`\`

\`\`\`sh
export SLUICE_KEY=sk-sluice-…
codex
\`\`\``,
  files: ({ url }) => ({
    ".codex/config.toml": `${codexConfig(url)}\n[analytics]\nenabled = false\n`,
  }),
  env: ({ key }) => ({ SLUICE_KEY: key }),
  args: (job) => [
    "exec",
    ...(isLater(job) ? ["resume", "--last"] : []),
    "--skip-git-repo-check",
    "--dangerously-bypass-approvals-and-sandbox",
    "--model",
    job.model,
    // It compacts when a turn begins with more than this.
    ...(job.step === "after" ? ["--config", "model_auto_compact_token_limit=1"] : []),
    ...(job.step === "search" ? ["--config", 'web_search="live"'] : []),
    ...(job.step === "picture" ? ["--image", "picture.png", "--"] : []),
    job.prompt,
  ],
};

/** With fewer than 200 tokens for the conversation, which a compacted one doesn't have. */
const small = { limit: { context: 300, output: 100 } };

const opencodeConfig = (
  baseURL: string,
  apiKey: string,
  { model, step }: Pick<Job, "model"> & Partial<Pick<Job, "step">>,
): string =>
  JSON.stringify(
    {
      // All of the conversation, also its end.
      ...(step === "compact" ? { compaction: { tail_turns: 0 } } : {}),
      provider: {
        sluice: {
          npm: "@ai-sdk/openai",
          name: "Sluice",
          options: { baseURL, apiKey },
          models: { [model]: step === "compact" ? small : {} },
        },
      },
    },
    null,
    2,
  );

const opencode: Agent = {
  id: "opencode",
  title: "opencode 1.18",
  dialect: "responses",
  hosts: ["openai", "azure", "anthropic", "deepseek", "mistral", "vllm"],
  also: ["compact", "after"],
  // The program itself: its wrapper wants packages of all platforms.
  command: "opencode-linux-x64-baseline/bin/opencode",
  setUp: `\`~/.config/opencode/opencode.json\`:

\`\`\`json
${opencodeConfig("http://127.0.0.1:8080/v1", "{env:SLUICE_KEY}", { model: "anthropic/claude-opus-4-8" })}
\`\`\`

\`\`\`sh
export SLUICE_KEY=sk-sluice-…
opencode --model sluice/anthropic/claude-opus-4-8
\`\`\``,
  files: (job) => ({
    ".config/opencode/opencode.json": opencodeConfig(`${job.url}/v1`, "{env:SLUICE_KEY}", job),
  }),
  env: ({ key }) => ({
    SLUICE_KEY: key,
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
  }),
  args: (job) => [
    "run",
    ...(isLater(job) ? ["--continue"] : []),
    "--model",
    `sluice/${job.model}`,
    job.prompt,
  ],
};

/** It compacts with a model of Google's, unless another one is named. */
const geminiModels = (model: string): object => ({
  customAliases: { "chat-compression-default": { modelConfig: { model } } },
});

const geminiCli: Agent = {
  id: "gemini-cli",
  title: "gemini-cli 0.61",
  dialect: "google",
  also: ["after"],
  command: ".bin/gemini",
  setUp: `\`\`\`sh
export GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:8080
export GEMINI_API_KEY=sk-sluice-…
gemini --model anthropic/claude-opus-4-8
\`\`\`

It compacts long sessions with \`gemini-3-pro-preview\`. Name another model in \`~/.gemini/settings.json\`:

\`\`\`json
${JSON.stringify({ modelConfigs: geminiModels("anthropic/claude-opus-4-8") })}
\`\`\``,
  files: ({ step, model }) => ({
    ".gemini/settings.json": JSON.stringify({
      modelConfigs: geminiModels(model),
      // It compacts when a turn begins with more than this share of a million tokens.
      ...(step === "after" ? { model: { compressionThreshold: 0.000_01 } } : {}),
      security: { auth: { selectedType: "gemini-api-key" } },
      general: { enableAutoUpdate: false, disableAutoUpdate: true },
      privacy: { usageStatisticsEnabled: false },
    }),
  }),
  env: ({ url, key }) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: key }),
  args: (job) => [
    "--skip-trust",
    "--yolo",
    ...(isLater(job) ? ["--resume", "latest"] : []),
    "--model",
    job.model,
    "--prompt",
    job.prompt,
  ],
};

/** Long enough that a conversation with it fills the context below. */
const longWords = " a".repeat(40_000);
/** It compacts when a turn begins with more than four fifths of this. */
const fullContext = "\n    defaultCompletionOptions: { contextLength: 49000, maxTokens: 1000 }";

const continueConfig = (
  apiBase: string,
  apiKey: string,
  { model, step }: Pick<Job, "model"> & Partial<Pick<Job, "step">>,
): string => `name: Sluice
version: 1.0.0
schema: v1
models:
  - name: sluice
    provider: openai
    model: ${model}
    apiBase: ${apiBase}
    apiKey: ${apiKey}
    useResponsesApi: false
    capabilities: [tool_use]
    roles: [chat]${step === "after" ? fullContext : ""}
`;

const continueCli: Agent = {
  id: "continue",
  title: "Continue cn 1.5",
  dialect: "chat",
  also: ["compact", "after"],
  // It tries ten times more, for two minutes, whatever it is told.
  dayRefusalsMax: 11,
  command: ".bin/cn",
  setUp: `\`~/.continue/config.yaml\`:

\`\`\`yaml
${continueConfig("http://127.0.0.1:8080/v1", "sk-sluice-…", { model: "anthropic/claude-opus-4-8" })}\`\`\`

\`\`\`sh
cn
\`\`\``,
  files: (job) => ({
    ".continue/config.yaml": continueConfig(`${job.url}/v1`, job.key, job),
  }),
  env: () => ({ CONTINUE_TELEMETRY_ENABLED: "0", CONTINUE_ALLOW_ANONYMOUS_TELEMETRY: "0" }),
  args: (job) => [
    "--print",
    "--auto",
    "--config",
    join(job.directory, "home/.continue/config.yaml"),
    ...(isLater(job) ? ["--resume"] : []),
    // Told to compact, it keeps nothing of that when it prints: so the command is a long prompt.
    job.step === "compact" ? `${job.prompt}${longWords}` : job.prompt,
  ],
};

export const agents = [claudeCode, codex, opencode, geminiCli, continueCli].map(agentClient);
