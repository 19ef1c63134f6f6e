/** The SDKs of the matrix, each with the lines that point it to Sluice. */
import type { ClientDialect, Step } from "../client.js";
import { type Sdk, sdkClient } from "./sdk.js";

const all: readonly Step[] = ["task", "again", "stream", "json", "abort", "busy", "day"];

const js = (code: string): string => `\`\`\`js\n${code}\n\`\`\``;

const openaiSetUp = js(
  `new OpenAI({ baseURL: "http://127.0.0.1:8080/v1", apiKey: "sk-sluice-…" })`,
);
const anthropicSetUp = js(
  `new Anthropic({ baseURL: "http://127.0.0.1:8080", apiKey: "sk-sluice-…" })`,
);

function openai(major: number, kind: "chat" | "responses"): Sdk {
  return {
    id: `openai-${major}-${kind}`,
    title: `openai ${major} (JavaScript), ${kind === "chat" ? "chat completions" : "responses"}`,
    dialect: kind,
    steps: all,
    setUp: openaiSetUp,
    command: [process.execPath, `openai-${kind}.mjs`, `openai-${major}`],
  };
}

function anthropic(major: number, version: string): Sdk {
  return {
    id: `anthropic-${major}`,
    title: `@anthropic-ai/sdk ${version}`,
    dialect: "messages",
    // The old one knows no schemas.
    steps: major === 0 ? all.filter((step) => step !== "json") : all,
    setUp: anthropicSetUp,
    command: [process.execPath, "anthropic.mjs", `anthropic-${major}`],
  };
}

type VercelKind = "chat" | "responses" | "messages";

function vercel(generation: number, provider: number, kind: VercelKind): Sdk {
  const maker = kind === "messages" ? "anthropic" : "openai";
  const dialects: Readonly<Record<VercelKind, ClientDialect>> = {
    chat: "chat",
    responses: "responses",
    messages: "messages",
  };
  const make = maker === "openai" ? "createOpenAI" : "createAnthropic";
  return {
    id: `vercel-${generation}-${kind}`,
    title: `Vercel AI ${generation}, @ai-sdk/${maker}${maker === "openai" ? ` (${kind})` : ""}`,
    dialect: dialects[kind],
    steps: all,
    setUp: js(
      `${make}({ baseURL: "http://127.0.0.1:8080/v1", apiKey: "sk-sluice-…" })${kind === "responses" ? "\n// with every call, since Sluice stores no responses:\nproviderOptions: { openai: { store: false } }" : ""}`,
    ),
    command: [process.execPath, "vercel.mjs", String(generation), maker, String(provider), kind],
  };
}

const table: readonly Sdk[] = [
  openai(4, "chat"),
  openai(5, "chat"),
  openai(6, "chat"),
  openai(7, "chat"),
  openai(4, "responses"),
  openai(7, "responses"),
  anthropic(0, "0.30"),
  anthropic(1, "1.12"),
  vercel(5, 2, "chat"),
  vercel(5, 2, "responses"),
  vercel(5, 2, "messages"),
  vercel(6, 3, "chat"),
  vercel(6, 3, "responses"),
  vercel(6, 3, "messages"),
  vercel(7, 4, "chat"),
  vercel(7, 4, "responses"),
  vercel(7, 4, "messages"),
];

export const sdks = table.map(sdkClient);
