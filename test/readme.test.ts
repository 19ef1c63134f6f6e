/**
 * Holds the API page's tables of endpoints and providers to what is really asked of them, and the
 * README to its length.
 */
import { readFileSync } from "node:fs";
import t from "tap";
import { chooseDialect } from "../proxy/dialects/choose-dialect.js";
import { presets } from "../shared/config/presets.js";
import { type ProviderType, providerTraits } from "../shared/config/provider-type.js";
import type { Operation } from "../shared/operation.js";

// The compiled test stands two directories below the repository.
const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

const rows: readonly (readonly [endpoint: string, operation: Operation])[] = [
  ["`/v1/chat/completions`", "chat_completions"],
  ["`/v1/responses`", "responses"],
  ["`/v1/messages`", "messages"],
  ["`/v1/completions`", "completions"],
  ["`/v1/responses/compact`", "compact"],
  ["`/v1/moderations`", "moderations"],
  ["`/v1/rerank`", "rerank"],
  ["`/v1/images/edits`", "image_edits"],
  ["`/v1/images/variations`", "image_variations"],
  ["`/v1/uploads`", "uploads"],
  ["`/v1/containers`", "containers"],
  ["`/v1/conversations`", "conversations"],
  ["`/v1/messages/batches`", "message_batches"],
  ["`/v1/files` for Anthropic's clients", "message_files"],
  ["`/v1/embeddings`", "embeddings"],
  ["`/v1/audio/speech`", "speech"],
  ["`/v1/audio/transcriptions`", "transcriptions"],
  ["`/v1/audio/translations`", "translations"],
  ["`/v1/images/generations`", "images"],
  ["`/v1/files`", "files"],
  ["`/v1/batches`", "batches"],
  ["`/v1beta/models/{model}:generateContent`", "generate_content"],
  ["`/v1/realtime`", "realtime"],
];

function works(asked: Operation, offered: ReadonlySet<Operation>): string {
  const dialect = chooseDialect(asked, offered);
  return dialect === null ? "–" : dialect.translation === null ? "yes" : "translated";
}

t.test("the README is read in minutes", async (t) => {
  t.ok(read("README.md").split(/\s+/).length <= 900);
});

t.test("the API's page shows what works at which type of provider", async (t) => {
  const page = read("docs/reference/http-api.md");
  const types: readonly ProviderType[] = [
    "openai",
    "azure",
    "anthropic",
    "gemini",
    "ollama",
    "vllm",
    "simulator",
  ];
  t.ok(
    page.includes(`| endpoint | ${types.map((type) => `\`${type}\``).join(" | ")} |\n`),
    "its columns are the types",
  );
  t.ok(
    page.includes(
      `| \`/v1/messages/count_tokens\` | ${types.map((type) => (type === "anthropic" ? "yes" : type === "azure" ? "translated" : "estimated")).join(" | ")} |\n`,
    ),
  );
  for (const [endpoint, operation] of rows) {
    const row = `| ${endpoint} | ${types.map((type) => works(operation, new Set(providerTraits[type].operations))).join(" | ")} |`;
    t.ok(page.includes(`${row}\n`), row);
  }
});

t.test(
  "the pages on dialects list who takes max_completion_tokens, and that all others take max_tokens",
  async (t) => {
    t.same(
      presets
        .filter(({ chat }) => chat.maxTokensField === "max_completion_tokens")
        .map(({ name }) => name),
      ["openai", "azure"],
    );
    for (const page of ["docs/reference/dialects.md", "docs/reference/dialects-responses.md"])
      t.match(
        read(page),
        /`max_completion_tokens` at OpenAI and Azure.*`max_tokens` at all others/,
        page,
      );
  },
);

t.test("the API's page lists what the presets offer", async (t) => {
  const page = read("docs/reference/http-api.md");
  for (const preset of presets) {
    const row = `| \`${preset.name}\` | ${preset.type} | ${preset.operations.map((operation) => `\`${operation}\``).join(", ")} |`;
    t.ok(page.includes(`${row}\n`), row);
  }
});
