/**
 * Reads the words of a bill's line, which are for people: `priority | gpt-5.6-sol, cached input,
 * long context`, `Generate content output token count gemini 3 flash text batch`. Pure.
 */
import type { BillItem, Kind } from "./bill.js";

interface LineMeaning {
  /** Null if the line names none. */
  readonly model: string | null;
  readonly tier: string;
  readonly item: BillItem;
}

const tiers = ["batch", "flex", "priority", "fast"] as const;

/** The meaning of a line item of OpenAI's costs. */
export function openaiLine(line: string): LineMeaning {
  const [head = "", ...rest] = line.split(" | ").reverse();
  const prefix = rest.reverse().join(" ").toLowerCase();
  const tool = toolIn(line);
  const parts = head.split(",").map((part) => part.trim());
  const words = parts.slice(1).join(" ").toLowerCase();
  if (tool !== null && !/\b(?:in|out)put\b/.test(words))
    return { model: null, tier: "standard", item: tool };
  const tier = tiers.find(
    (name) => prefix.includes(name) || new RegExp(`\\b${name}\\b`).test(words),
  );
  const model = /^([\w.:-]+)(?:\s+(text|audio|image|batch))?$/i.exec(parts[0] ?? "");
  if (model === null || parts.length < 2)
    return { model: null, tier: tier ?? "standard", item: "other" };
  const modality = (model[2] ?? "").toLowerCase();
  return {
    model: model[1]!,
    tier: tier ?? (modality === "batch" ? "batch" : "standard"),
    item: kindIn(`${modality} ${words}`) ?? "total",
  };
}

/** The meaning of a SKU. A tool's fee is for a family of models. */
export function skuLine(sku: string): LineMeaning {
  const words = sku.replaceAll("_", " ").toLowerCase();
  const tier = tiers.find((name) => new RegExp(`\\b${name}\\b`).test(words)) ?? "standard";
  const kind = /\bsearch quer|\bgrounding|\bstorage\b/.test(words) ? null : kindIn(words);
  if (kind === null) return { model: null, tier: "standard", item: toolIn(words) ?? "other" };
  return { model: modelIn(words), tier, item: kind };
}

/** Words of SKUs that aren't of a model's name. */
const filler = new Set(
  `generate content generatecontent embedcontent predict input output cached cache caching read reads
  write writes creation hit hits token tokens count for of on with text image audio video short long
  context thinking non batch flex priority fast usage global online offpeak cloud vertex ai model
  garden as a service`.split(/\s+/),
);

/** `gemini-3.5-flash-lite`; null if no word is left. */
function modelIn(words: string): string | null {
  const name = words
    .split(/[\s,()]+/)
    .flatMap((word) => (/^(?:-|non-thinking)?$/.test(word) || filler.has(word) ? [] : [word]))
    .join("-");
  return name === "" ? null : name;
}

function toolIn(words: string): Kind | "tool" | null {
  const text = words.toLowerCase();
  if (/\bmaps\b/.test(text)) return "maps_searches";
  if (/\bfile search\b/.test(text) && !/storage/.test(text)) return "file_searches";
  if (/\bweb search\b|\bsearch quer|\bgrounding\b|google search/.test(text)) return "web_searches";
  if (/\bcode interpreter\b|\bcontainer/.test(text)) return "containers";
  return /\bstorage\b|\bcode execution\b|\bsession/.test(text) ? "tool" : null;
}

function kindIn(words: string): Kind | null {
  const has = (pattern: RegExp): boolean => pattern.test(words);
  // `output token count … short input text` is output: the rest says how long the input was.
  const isOutput =
    has(/\boutput (?:token|text|image|audio)/) || (has(/\boutput\b/) && !has(/\binput token/));
  if (has(/\bcache (?:writes?|creation)\b|\bcaching write/))
    return has(/\b1h\b/) ? "cache_write_1h" : has(/\b12h\b/) ? "cache_write_12h" : "cache_write";
  if (has(/\bcached\b|\bcache (?:reads?|hits?)\b|\bcaching\b/)) return "cached_input";
  if (isOutput)
    return has(/\baudio\b/) ? "audio_output" : has(/\bimage\b/) ? "image_output" : "output";
  if (has(/\binput\b/))
    return has(/\baudio\b/) ? "audio_input" : has(/\bimage\b/) ? "image_input" : "input";
  if (has(/\bseconds?\b|\bminutes?\b|\btranscri|^\s*audio\b/)) return "audio_seconds";
  if (has(/\bcharacters?\b/)) return "characters";
  return has(/\bimages?\b/) ? "images" : null;
}
