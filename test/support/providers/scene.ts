/** What the providers of the SDK tests have to say, whatever dialect they say it in. */

/**
 * `tools`: two calls at once. `thinking`: a thought before the text. `report`: the text after the
 * tools' results.
 */
export type Scene = "greeting" | "tools" | "thinking" | "report";

/** Not all of it ASCII, so that bytes that are cut or decoded wrongly show. */
export const greeting = "Good day, Зоряно 👋";
export const thought = "She greets me. I greet her.";
export const signature = "EqMDCkYIBRgCKkDx";
export const report = "Kyiv has 14 °C, Oslo has 9 °C.";

export interface WantedCall {
  readonly id: string;
  readonly name: string;
  readonly input: { readonly city: string };
}

/** The ids are those of the dialect: the one's begin with `call_`, the other's with `toolu_`. */
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

/**
 * Tokens of every answer: the input is 20, 5 of it from a cache and 3 written to one; the output is
 * 8.
 */
export const told = { input: 20, cached: 5, cacheWritten: 3, output: 8, total: 28 };
