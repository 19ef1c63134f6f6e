/** The content of the SDK tests' recorded answers, the same in every dialect. */

/**
 * `tools`: two calls at once. `thinking`: a thought before the text. `report`: the text after the
 * tools' results.
 */
export type Scene = "greeting" | "tools" | "thinking" | "report";

/** Not only ASCII, so that a test fails when bytes are cut or decoded wrongly. */
export const greeting = "Good day, Зоряно 👋";
export const thought = "She greets me. I greet her.";
export const signature = "EqMDCkYIBRgCKkDx";
export const report = "Kyiv has 14 °C, Oslo has 9 °C.";

export interface WantedCall {
  readonly id: string;
  readonly name: string;
  readonly input: { readonly city: string };
}

/** Ids as the dialect has them: OpenAI's begin with `call_`, Anthropic's with `toolu_`. */
export function wantedCalls(prefix: "call" | "toolu"): readonly WantedCall[] {
  return ["Kyiv", "Oslo"].map((city) => ({
    id: `${prefix}_01${city}`,
    name: "get_weather",
    input: { city },
  }));
}

export function textOf(scene: Scene): string {
  return scene === "report" ? report : greeting;
}

/** A text in pieces as models stream it. */
export function pieces(text: string): string[] {
  return text.match(/\S+\s*/g) ?? [];
}

/** Of every answer. 5 of the 20 input tokens were read from a cache, 3 were written to one. */
export const tokenCounts = { input: 20, cached: 5, cacheWritten: 3, output: 8, total: 28 };
