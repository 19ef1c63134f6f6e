/** The SDKs of the matrix, each with the lines that point it to Sluice. */
import { pythonProgram } from "../child.js";
import type { ClientDialect, Step } from "../client.js";
import { type Sdk, sdkClient } from "./sdk.js";

const all: readonly Step[] = ["task", "again", "stream", "json", "abort", "busy", "day", "cap"];
/** Of the providers' own SDKs. */
const withPicture: readonly Step[] = [...all, "picture"];
const withCount: readonly Step[] = [...withPicture, "count"];

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
    // The old one counts no tokens.
    steps: kind === "responses" && major > 4 ? withCount : withPicture,
    setUp: openaiSetUp,
    command: [process.execPath, `openai-${kind}.mjs`, `openai-${major}`],
  };
}

function anthropic(major: number, version: string): Sdk {
  return {
    id: `anthropic-${major}`,
    title: `@anthropic-ai/sdk ${version}`,
    dialect: "messages",
    // The old one knows no schemas, and no count of tokens.
    steps: major === 0 ? withPicture.filter((step) => step !== "json") : withCount,
    setUp: anthropicSetUp,
    command: [process.execPath, "anthropic.mjs", `anthropic-${major}`],
  };
}

function google(major: number, version: string): Sdk {
  return {
    id: `google-${major}`,
    title: `@google/genai ${version}`,
    dialect: "google",
    steps: withCount,
    setUp: js(
      `new GoogleGenAI({ apiKey: "sk-sluice-…", httpOptions: { baseUrl: "http://127.0.0.1:8080" } })`,
    ),
    command: [process.execPath, "google.mjs", `genai-${major}`],
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

const agentsSdk = (kind: "chat" | "responses"): Sdk => ({
  id: `agents-js-${kind}`,
  title: `@openai/agents 0.20, ${kind === "chat" ? "chat completions" : "responses"}`,
  dialect: kind,
  steps: all,
  setUp: js(
    kind === "chat"
      ? `new OpenAIProvider({ baseURL: "http://127.0.0.1:8080/v1", apiKey: "sk-sluice-…", useResponses: false })`
      : `new OpenAIProvider({ baseURL: "http://127.0.0.1:8080/v1", apiKey: "sk-sluice-…" })
// in each Agent, since Sluice stores no responses:
modelSettings: { store: false, providerData: { include: ["reasoning.encrypted_content"] } }`,
  ),
  command: [process.execPath, "agents-js.mjs", kind],
});

function langchain(maker: "openai" | "responses" | "anthropic", setUp: string): Sdk {
  const dialects = { openai: "chat", responses: "responses", anthropic: "messages" } as const;
  const model = maker === "anthropic" ? "ChatAnthropic" : "ChatOpenAI";
  return {
    id: `langchain-${maker}`,
    title: `LangChain createAgent 1.5, ${model}${maker === "responses" ? " (responses)" : ""}`,
    dialect: dialects[maker],
    steps: all,
    setUp: js(setUp),
    command: [process.execPath, "langchain.mjs", maker],
  };
}

const mastra: Sdk = {
  id: "mastra",
  title: "Mastra 1.71",
  dialect: "chat",
  // By itself it retries nothing.
  steps: all.filter((step) => step !== "busy"),
  setUp: js(
    `model: { id: "sluice/anthropic/claude-opus-4-8", url: "http://127.0.0.1:8080/v1", apiKey: "sk-sluice-…" }`,
  ),
  command: [process.execPath, "mastra.mjs"],
};

const llamaindex: Sdk = {
  id: "llamaindex",
  title: "LlamaIndex 0.12, @llamaindex/openai",
  dialect: "chat",
  // It reads a stream to its end, whoever has left.
  steps: ["task", "again", "busy", "day"],
  setUp: js(
    `new OpenAI({ model, baseURL: "http://127.0.0.1:8080/v1", apiKey: "sk-sluice-…", supportToolCall: true })`,
  ),
  command: [process.execPath, "llamaindex.mjs"],
};

interface PythonSdk extends Pick<Sdk, "title" | "dialect" | "steps"> {
  readonly code: string;
}

const pythons = {
  openai_chat: {
    title: "openai 3 (Python), chat completions",
    dialect: "chat",
    steps: withPicture,
    code: `OpenAI(base_url="http://127.0.0.1:8080/v1", api_key="sk-sluice-…")`,
  },
  anthropic_messages: {
    title: "anthropic 2 (Python)",
    dialect: "messages",
    steps: withCount,
    code: `Anthropic(base_url="http://127.0.0.1:8080", api_key="sk-sluice-…")`,
  },
  google_genai: {
    title: "google-genai 3 (Python)",
    dialect: "google",
    steps: withCount,
    code: `genai.Client(api_key="sk-sluice-…", http_options={"base_url": "http://127.0.0.1:8080"})`,
  },
} as const satisfies Readonly<Record<string, PythonSdk>>;

function python(script: keyof typeof pythons): Sdk {
  const { code, ...sdk } = pythons[script];
  return {
    ...sdk,
    id: `python-${script.replace("_", "-")}`,
    setUp: `\`\`\`python\n${code}\n\`\`\``,
    command: [pythonProgram, `${script}.py`],
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
  anthropic(1, "1.14"),
  google(2, "2.32"),
  google(3, "3.3"),
  vercel(5, 2, "chat"),
  vercel(5, 2, "responses"),
  vercel(5, 2, "messages"),
  vercel(6, 3, "chat"),
  vercel(6, 3, "responses"),
  vercel(6, 3, "messages"),
  vercel(7, 4, "chat"),
  vercel(7, 4, "responses"),
  vercel(7, 4, "messages"),
  agentsSdk("chat"),
  agentsSdk("responses"),
  langchain(
    "openai",
    `new ChatOpenAI({ model, apiKey: "sk-sluice-…", configuration: { baseURL: "http://127.0.0.1:8080/v1" } })`,
  ),
  langchain(
    "responses",
    `new ChatOpenAI({ model, apiKey: "sk-sluice-…", configuration: { baseURL: "http://127.0.0.1:8080/v1" }, useResponsesApi: true, zdrEnabled: true, modelKwargs: { include: ["reasoning.encrypted_content"] } })`,
  ),
  langchain(
    "anthropic",
    `new ChatAnthropic({ model, apiKey: "sk-sluice-…", anthropicApiUrl: "http://127.0.0.1:8080", maxTokens: 8000 })`,
  ),
  mastra,
  llamaindex,
  python("openai_chat"),
  python("anthropic_messages"),
  python("google_genai"),
];

export const sdks = table.map(sdkClient);
