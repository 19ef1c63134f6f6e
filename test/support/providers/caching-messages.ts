/**
 * Anthropic's prompt cache, as its documentation describes it: a breakpoint caches the tools, the
 * system prompt and the messages up to it. A request reads the longest entry that ends at one of
 * its breakpoints or at most 20 blocks before, and writes what follows up to its last breakpoint.
 * Without a lifetime: entries stay.
 */
type Json = Readonly<Record<string, unknown>>;

export interface CachedUsage {
  readonly input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly output_tokens: number;
}

/** Shorter prefixes are processed without caching. */
const cachedTokensMin = 1024;
const lookbackBlocks = 20;
const breakpointsMax = 4;
const outputTokens = 200;

export class MessagesCache {
  readonly #entries = new Set<string>();

  /** The usage of one request. Throws if Anthropic answers 400. */
  usageOf(body: Json): CachedUsage {
    const blocks = [
      ...(body["tools"] === undefined ? [] : (body["tools"] as Json[])),
      ...(body["system"] === undefined ? [] : (body["system"] as Json[])),
      ...(body["messages"] as Json[]).flatMap(({ content }) =>
        typeof content === "string" ? [{ type: "text", text: content }] : (content as Json[]),
      ),
    ];
    const marked = blocks.flatMap((block, i) => ("cache_control" in block ? [i] : []));
    if (marked.length > breakpointsMax)
      throw new Error(`A maximum of 4 blocks with cache_control may be provided.`);
    if (marked.some((i) => String(blocks[i]!["type"]).includes("thinking")))
      throw new Error("cache_control: Extra inputs are not permitted");
    let prefix = "";
    let tokens = 0;
    const prefixes = blocks.map(({ cache_control: _, ...block }) => {
      const text = JSON.stringify(block);
      prefix += text;
      tokens += Math.ceil(text.length / 4);
      return { prefix, tokens };
    });
    const found = marked.flatMap((end) =>
      prefixes
        .slice(Math.max(0, end - lookbackBlocks), end + 1)
        .filter((each) => this.#entries.has(each.prefix)),
    );
    const read = Math.max(0, ...found.map((each) => each.tokens));
    const written = marked
      .map((i) => prefixes[i]!)
      .filter((each) => each.tokens >= cachedTokensMin);
    for (const each of written) this.#entries.add(each.prefix);
    const cached = Math.max(read, ...written.map((each) => each.tokens));
    return {
      input_tokens: tokens - cached,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: cached - read,
      output_tokens: outputTokens,
    };
  }
}
