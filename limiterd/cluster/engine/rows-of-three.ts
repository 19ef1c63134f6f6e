/** Scripts answer with flat lists: here three words each are a row. What is left over is none. */
export function* rowsOfThree(
  words: readonly string[],
): Generator<readonly [string, string, string]> {
  for (let i = 0; i + 2 < words.length; i += 3) yield [words[i]!, words[i + 1]!, words[i + 2]!];
}
