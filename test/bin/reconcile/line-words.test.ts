import t from "tap";
import { openaiLine, skuLine } from "../../../bin/reconcile/line-words.js";

// Lines of real bills, as people have published them.
const openai: readonly (readonly [string, string | null, string, string])[] = [
  ["gpt-5.5-2026-04-23, input", "gpt-5.5-2026-04-23", "standard", "input"],
  ["gpt-5.5-2026-04-23, cached input", "gpt-5.5-2026-04-23", "standard", "cached_input"],
  ["gpt-4.1-2025-04-14, output", "gpt-4.1-2025-04-14", "standard", "output"],
  ["gpt-5.6-sol, cache writes", "gpt-5.6-sol", "standard", "cache_write"],
  ["priority | gpt-5.6-sol, output, long context", "gpt-5.6-sol", "priority", "output"],
  ["flex | gpt-5-mini, input", "gpt-5-mini", "flex", "input"],
  ["batch | gpt-5-mini, cached input", "gpt-5-mini", "batch", "cached_input"],
  [
    "gpt-audio-mini-2025-12-15 audio, input",
    "gpt-audio-mini-2025-12-15",
    "standard",
    "audio_input",
  ],
  ["gpt-image-2.5-flare image, output", "gpt-image-2.5-flare", "standard", "image_output"],
  [
    "gpt-image-2.5-sunburst text, cached input",
    "gpt-image-2.5-sunburst",
    "standard",
    "cached_input",
  ],
  ["ft-gpt-4o-2024-08-06, input", "ft-gpt-4o-2024-08-06", "standard", "input"],
  ["gpt-4o-2024-08-06, Input", "gpt-4o-2024-08-06", "standard", "input"],
  ["whisper-1, audio", "whisper-1", "standard", "audio_seconds"],
  ["web search tool calls", null, "standard", "web_searches"],
  ["assistants api | file search", null, "standard", "file_searches"],
  ["code interpreter sessions", null, "standard", "containers"],
  ["Vector storage", null, "standard", "tool"],
  ["something new", null, "standard", "other"],
];

t.test("line items of OpenAI's costs", async (t) => {
  for (const [line, model, tier, item] of openai)
    t.same(openaiLine(line), { model, tier, item }, line);
});

const skus: readonly (readonly [string, string | null, string, string])[] = [
  [
    "Generate content input token count gemini 3.5 flash lite text",
    "gemini-3.5-flash-lite",
    "standard",
    "input",
  ],
  [
    "Generate content output token count gemini 2.5 flash short input text non-thinking",
    "gemini-2.5-flash",
    "standard",
    "output",
  ],
  [
    "Generate content output token count gemini 3 flash text flex",
    "gemini-3-flash",
    "flex",
    "output",
  ],
  [
    "Generate_content text output token count for gemini 3 flash batch",
    "gemini-3-flash",
    "batch",
    "output",
  ],
  [
    "Generate content cached input token count gemini 2.5 flash input image",
    "gemini-2.5-flash",
    "standard",
    "cached_input",
  ],
  [
    "Generate content input token count Gemini 2.5 Pro input image",
    "gemini-2.5-pro",
    "standard",
    "image_input",
  ],
  ["Gemini 3 Flash Image Input Caching", "gemini-3-flash", "standard", "cached_input"],
  ["Gemini 3.8 Flash Global Text Input", "gemini-3.8-flash", "standard", "input"],
  ["Gemini 3.8 Flash Text Input Caching Storage", null, "standard", "tool"],
  [
    "EmbedContent input token count for gemini-embedding-001",
    "gemini-embedding-001",
    "standard",
    "input",
  ],
  ["Generate content search query gemini 3 paid one", null, "standard", "web_searches"],
  ["Grounding with Google Search on Gemini 3", null, "standard", "web_searches"],
  ["claude-opus-4-8 input tokens, cached", "claude-opus-4-8", "standard", "cached_input"],
  ["Claude Sonnet 5 Usage - Input Tokens", "claude-sonnet-5", "standard", "input"],
  ["Cloud Vertex AI Model Garden Model as a Service GLM-5.2 Input", "glm-5.2", "standard", "input"],
  ["Vector Search Index Serving e2-standard-16", null, "standard", "other"],
];

t.test("SKUs", async (t) => {
  for (const [sku, model, tier, item] of skus) t.same(skuLine(sku), { model, tier, item }, sku);
});
