/**
 * Embeddings in base64, for clients that request it. OpenAI's SDK for Node requests base64 unless
 * told otherwise, and would decode a list of numbers as if it were base64, to vectors of zeros of a
 * quarter of the length. Ollama, Mistral and others always answer with lists.
 */
import { parseJson } from "../../shared/checked.js";

const list = /("embedding"\s{0,8}:\s{0,8})(\[[^[\]"{}]*\])/g;

/** Lists of numbers become base64 of 32-bit floats; everything else keeps every byte. */
export function embeddingsInBase64(json: string): string {
  return json.replace(list, (whole, name: string, numbers: string) => {
    const values = parseJson(numbers);
    if (!Array.isArray(values) || !values.every(Number.isFinite)) return whole;
    const floats = Buffer.alloc(values.length * 4);
    for (const [i, value] of (values as number[]).entries()) floats.writeFloatLE(value, i * 4);
    return `${name}"${floats.toString("base64")}"`;
  });
}
