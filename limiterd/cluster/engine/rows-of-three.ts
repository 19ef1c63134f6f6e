/** Splits a script's flat answer into rows of three words and drops an incomplete last row. */
export function* rowsOfThree(
  words: readonly string[],
): Generator<readonly [string, string, string]> {
  for (let i = 0; i + 2 < words.length; i += 3) yield [words[i]!, words[i + 1]!, words[i + 2]!];
}
