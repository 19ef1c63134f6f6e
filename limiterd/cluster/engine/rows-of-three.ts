/** Splits the flat list that a script returns into rows of three words; a rest is dropped. */
export function* rowsOfThree(
  words: readonly string[],
): Generator<readonly [string, string, string]> {
  for (let i = 0; i + 2 < words.length; i += 3) yield [words[i]!, words[i + 1]!, words[i + 2]!];
}
